#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/content.hpp>
#include <ipybox/mcp/era.hpp>
#include <ipybox/mcp/raw_json.hpp>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::mcp {

/// The result of a tool. A tool that failed returned too: `is_error` is set and the content says why.
struct call_result {
    bool is_error = false;                           ///< the tool failed
    std::vector<mcp::content> content;               ///< what it returned, block by block
    std::optional<raw_json> structured_content = {}; ///< any JSON value, null included; none where the server sent none
    std::optional<nlohmann::json> meta = {};         ///< `_meta` of the server

    /// Text blocks, one below the other.
    [[nodiscard]] std::string text() const;
};

namespace detail {

/**
 * \brief Reads the `result` of `tools/call`.
 * \details Of blocks, what is missing or of another type than it should be is empty; no block is left out. A member
 * that is null counts as missing, for many servers write all that they know of. Only since 2026-07-28 null may be what
 * a tool returned: then it is kept as `structured_content`.
 * \par Errors errc::protocol_error — it is not a JSON object, `content` is not an array, or which of its blocks is not
 * JSON
 */
[[nodiscard]] result<call_result> read_call_result(std::string_view json, era spoken = era::handshake);

} // namespace detail

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/call_result.ipp>
#endif
