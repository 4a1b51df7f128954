#pragma once

#include <ipybox/core/result.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::cli {

/// Keys of a table, with their values as TOML.
using toml_entries = std::vector<std::pair<std::string, std::string>>;

/// A text as a TOML string.
[[nodiscard]] std::string toml_string(std::string_view text);

/**
 * \brief A TOML text with the table `[group.name]`.
 * \details `set` replaces values of the same keys, `unset` is added where its keys are missing. All else stays as it
 * is, byte by byte.
 * \par Errors errc::invalid_argument — the table is written in another form than with a header of its own, or twice
 */
[[nodiscard]] result<std::string> with_toml_table(std::string_view text, std::string_view group, std::string_view name,
                                                  toml_entries const& set, toml_entries const& unset);

/// The text without the table and those below it; the same where there is none. \par Errors as above
[[nodiscard]] result<std::string> without_toml_table(std::string_view text, std::string_view group,
                                                     std::string_view name);

} // namespace ipybox::cli
