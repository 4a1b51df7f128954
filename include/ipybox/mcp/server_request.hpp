#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/server_declaration.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

/** \file
 * The requests of a client, as values. Text of the client: it is valid JSON, and nothing else is known of it.
 */

namespace ipybox::mcp {

/// The members of `params` that some request has, as JSON that is not looked into; empty where absent.
struct request_params {
    std::string_view name, arguments, task, request_state, input_responses; ///< of `tools/call`
    std::string_view cursor;                                                ///< of lists
    std::string_view task_id;                                               ///< of `tasks/…`
    std::string_view request_id;                                            ///< of `notifications/cancelled`
    std::string_view protocol_version, capabilities, client_info;           ///< of `initialize`

    /// Of `_meta`. The last three are those of 2026-07-28, whose presence tells the era of a request.
    std::string_view progress_token, meta_version, meta_capabilities, meta_client_info;
};

/// \par Errors rpc_invalid_params — `params` is not an object, or its `_meta` is not
[[nodiscard]] answer_to<request_params> read_request_params(std::string_view params);

/**
 * \brief A request id in one spelling, so that ids can be compared; none where the value is not an id.
 * \details JSON-RPC 2.0 section 4 and MCP: a string or an integer, never null, of at most `longest_request_id` bytes.
 */
[[nodiscard]] std::optional<std::string> request_key(std::string_view id);

inline constexpr std::size_t longest_request_id = 1024;

/// A string of a request; none where it is another value, or absent.
[[nodiscard]] std::optional<std::string> read_string(std::string_view json);

/// The most that a client may say of itself, in bytes of JSON.
inline constexpr std::size_t longest_description = std::size_t(64) << 10;

/**
 * \brief Reads the description of a client in `initialize`. Its version becomes the one to speak: the requested one
 * where it is known, else the latest with a handshake.
 * \par Errors rpc_invalid_params — it says more than `longest_description`
 */
[[nodiscard]] answer_to<server::client_description> read_initialize(request_params const& params);

/**
 * \brief Reads the description of a client in a request of 2026-07-28.
 * \par Errors rpc_invalid_params — a key of `_meta` is missing or has another type; mcp_unsupported_version, with the
 * versions that are known
 */
[[nodiscard]] answer_to<server::client_description> read_request_meta(request_params const& params);

/// The result of `elicitation/create`; none where it is not one.
[[nodiscard]] std::optional<server::elicitation> read_elicitation_answer(std::string_view json);

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_request.ipp>
#endif
