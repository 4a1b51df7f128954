#pragma once

#include <ipybox/core/result.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace ipybox::cli {

/**
 * \brief A JSON text with a member of an object of its outermost object: `group.name`.
 * \details All else stays as it is, byte by byte: comments, trailing commas, order and indentation. Members of an entry
 * that is there and that `value` does not have are kept. A text that is empty becomes an object.
 * \par Errors errc::invalid_argument — the text is not a JSON object (with comments and trailing commas), `group` is
 * not an object or occurs twice, or the entry that has to change has comments of its own
 */
[[nodiscard]] result<std::string> with_json_member(std::string_view text, std::string_view group, std::string_view name,
                                                   nlohmann::ordered_json const& value);

/// The text without the member; the same where it has none. \par Errors as above
[[nodiscard]] result<std::string> without_json_member(std::string_view text, std::string_view group,
                                                      std::string_view name);

} // namespace ipybox::cli
