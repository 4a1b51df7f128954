#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/server_channel.hpp>

#include <cstddef>
#include <memory>

namespace ipybox::mcp {

/**
 * \brief The channel of a server that its client has started: lines over two descriptors (MCP 2026-07-28, "stdio").
 * \details Pipes, sockets, terminals and files all do. A thread of the channel reads and writes, because the
 * descriptors are shared with the client and must not be made non-blocking. They
 * stay open. Nothing else of the process may write to `output`: the program keeps standard output for this channel, and
 * its own messages go to standard error.
 * \par Errors errc::io_error — no descriptor to wake the thread by, or a descriptor that is not open
 */
[[nodiscard]] result<std::shared_ptr<server_channel>> make_stdio_server_channel(std::size_t max_line_in, int input = 0,
                                                                                int output = 1);

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/stdio_server_channel.ipp>
#endif
