#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/http/authorizer.hpp>
#include <ipybox/mcp/channel.hpp>
#include <ipybox/mcp/server_params.hpp>

#include <asio/any_io_executor.hpp>

#include <memory>

namespace ipybox::http {

/**
 * \brief The channel to a server of MCP that is reached over HTTP.
 * \details Streamable HTTP, as the versions 2025-03-26 to 2026-07-28 have it, or HTTP+SSE of 2024-11-05: as
 * `server_params::reached_by` says, or where it says nothing, whichever the server understands. Each message is a
 * request of HTTP, and a failure of one is that of its message alone. A session that the server has forgotten is begun
 * anew, a stream that broke off is resumed where the server can do that. Redirects are followed within the origin of
 * `url`.
 * \param tokens may be none
 * \par Errors errc::invalid_argument — the `url`. Of `receive`: errc::mcp_server_died — the one stream of HTTP+SSE
 * ended, or a new session is one of another version. Of a message: errc::mcp_unreachable, mcp_unauthorized,
 * mcp_refused, protocol_error, message_too_large
 */
[[nodiscard]] result<std::shared_ptr<mcp::channel>> make_remote_channel(asio::any_io_executor const& executor,
                                                                        mcp::server_params const& server,
                                                                        std::shared_ptr<authorizer> tokens = nullptr);

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/remote_channel.ipp>
#endif
