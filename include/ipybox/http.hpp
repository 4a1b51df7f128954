#pragma once

/** \file
 * The component `http`: a program that is linked with `ipybox::http` or `ipybox::http_header_only` and includes this
 * reaches MCP servers over HTTP, by the `url` of their entries.
 */

#include <ipybox/http/remote_channel.hpp>
#include <ipybox/mcp/offered_channel.hpp>

namespace ipybox::http {

/// Brings the channel along.
inline mcp::offered_channel const channel_is_offered{
    [](asio::any_io_executor const& executor, mcp::server_params const& server) {
        return make_remote_channel(executor, server);
    }};

} // namespace ipybox::http
