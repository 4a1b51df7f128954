#pragma once

#include <ipybox/core/result.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace ipybox::mcp {

/**
 * \brief Writes a value as JSON on one line, as `dump()` does it, but long strings in runs instead of character by
 * character.
 * \par Errors errc::invalid_argument — it nests deeper than `json_cursor::deepest`, or holds text that is not UTF-8 or
 * a discarded value
 */
[[nodiscard]] result<std::string> write_json(nlohmann::ordered_json const& value);
[[nodiscard]] result<std::string> write_sorted_json(nlohmann::json const& value); ///< members are sorted by name

namespace detail {

/// Appends a text as a JSON string; false where it is not UTF-8, and what was appended is then of no use.
[[nodiscard]] bool append_json_string(std::string& to, std::string_view string);

} // namespace detail
} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/json_writer.ipp>
#endif
