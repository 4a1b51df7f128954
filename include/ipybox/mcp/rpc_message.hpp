#pragma once

#include <ipybox/core/config.hpp>

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::mcp {

/// The error that the other side reports. Its text: carried, never interpreted.
struct rpc_error {
    std::int64_t code = 0;
    std::string message;
    std::string data; ///< JSON, or empty
};

/// A value, or the error that a request is refused with.
template <class T>
using answer_to = tl::expected<T, rpc_error>;

/**
 * \brief A JSON-RPC 2.0 message, of which only the envelope was read.
 * \details Views into the text it was read from: `id`, `params`, `result` and `error` are JSON that was not looked into
 * yet, empty where absent.
 */
struct rpc_message {
    enum class kind {
        request,
        notification,
        result,
        error,
        broken ///< begins as an answer and is not JSON: cut off, say. It has an id where that could be read
    };

    kind what = kind::notification;
    std::string_view id;
    std::string method;
    std::string_view params;
    std::string_view result;
    std::string_view error;
    rpc_error why = {}; ///< what stands in `error`
};

/// Error codes: JSON-RPC 2.0 section 5.1.
inline constexpr std::int64_t rpc_parse_error = -32700;
inline constexpr std::int64_t rpc_invalid_request = -32600;
inline constexpr std::int64_t rpc_method_not_found = -32601;
inline constexpr std::int64_t rpc_invalid_params = -32602;
inline constexpr std::int64_t rpc_internal_error = -32603;

/// MCP 2026-07-28: header fields of HTTP are missing, or differ from the message.
inline constexpr std::int64_t rpc_header_mismatch = -32020;

/// Those of MCP 2026-07-28, "Error Codes".
inline constexpr std::int64_t mcp_missing_capability = -32021;
inline constexpr std::int64_t mcp_unsupported_version = -32022;

/// The envelope of a message; none where the text is something else, which servers do print.
[[nodiscard]] std::optional<rpc_message> read_rpc_message(std::string_view text);

/// The content of the `error` of a message.
[[nodiscard]] rpc_error read_rpc_error(std::string_view error);

/// A member of `params`: a name that needs no escapes, and JSON.
struct rpc_member {
    std::string_view name;
    std::string_view value;
};

/// "MESSAGE (CODE)", and `data` on a line of its own
[[nodiscard]] std::string to_string(rpc_error const& e);

/// A text as a JSON string.
[[nodiscard]] std::string json_string(std::string_view text);

/// The pieces of a request, for those who put a long one together by themselves: what `rpc_request_head` begins, and
/// the members.
[[nodiscard]] std::string rpc_request_head(std::int64_t id, std::string_view method);
[[nodiscard]] std::vector<std::string_view> rpc_pieces(std::string_view head, std::vector<rpc_member> const& params);

/// Bytes of all pieces.
[[nodiscard]] std::size_t size_of(std::vector<std::string_view> const& pieces) noexcept;

/// Messages as they are written, without an end of line. Members without a value are left out; `id` and `result` are
/// JSON.
[[nodiscard]] std::string write_rpc_request(std::int64_t id, std::string_view method,
                                            std::vector<rpc_member> const& params);
[[nodiscard]] std::string write_rpc_notification(std::string_view method, std::vector<rpc_member> const& params);
[[nodiscard]] std::string write_rpc_result(std::string_view id, std::string_view result);
[[nodiscard]] std::string write_rpc_error(std::string_view id, std::int64_t code, std::string_view message);
[[nodiscard]] std::string write_rpc_error(std::string_view id, rpc_error const& why);

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/rpc_message.ipp>
#endif
