#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace ipybox {

/**
 * \brief JSON text in UTF-8 whatever is in the value: invalid UTF-8 is replaced by U+FFFD.
 * \details Text of users, kernels and servers must not make writing throw.
 * \param indent blanks for each level, every member on a line of its own; -1: all in one line
 */
[[nodiscard]] std::string json_text(nlohmann::json const& value, int indent = -1);

/// \copydoc json_text
[[nodiscard]] std::string json_text(nlohmann::ordered_json const& value, int indent = -1);

namespace detail {

// The parser of JSON takes a second to compile wherever it is called: these have it in one place.

/// The value of a JSON text; a discarded one where the text is not JSON.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);

/// The same with the order of members kept.
[[nodiscard]] nlohmann::ordered_json parse_ordered_json(std::string_view text);

} // namespace detail
} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/core/impl/json_text.ipp>
#endif
