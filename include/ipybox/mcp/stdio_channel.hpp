#pragma once

#include <ipybox/mcp/channel.hpp>
#include <ipybox/mcp/server_params.hpp>

#include <cstddef>
#include <memory>

namespace ipybox::mcp {

/// The longest line that is taken from a server.
inline constexpr std::size_t longest_line = std::size_t(256) << 20;

/**
 * \brief The channel to a server that is a child process (MCP 2026-07-28, "stdio").
 * \details The server leads a process group of its own. `close` ends its standard input, then sends SIGTERM, then
 * SIGKILL, each after `stop_grace`; what is left of the group and below it goes with it. The last 16 KiB that it wrote
 * to standard error go into the error that says how it ended.
 * \par Errors of `open`: errc::mcp_start_failed, io_error, invalid_argument. Of `receive`: errc::mcp_server_died — with
 * `status()`; message_too_large
 */
[[nodiscard]] std::shared_ptr<channel> make_stdio_channel(asio::any_io_executor const& executor, server_params server,
                                                          std::chrono::milliseconds stop_grace);

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/stdio_channel.ipp>
#endif
