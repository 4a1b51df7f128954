#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/channel.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/mcp/variables.hpp>
#include <ipybox/os/host_programs.hpp>

#include <functional>
#include <memory>

namespace ipybox::mcp::detail {

/// The settings of a client besides the parameters of its server. If the first two throw, the start fails with
/// errc::invalid_argument.
struct client_environment {
    channel::factory make_channel;          ///< none: child processes only
    variable_lookup variables;              ///< none: the environment of the host
    std::function<void()> on_tools_changed; ///< called on the client's executor when the server's list of tools
                                            ///< changes; what it throws is dropped
    /// Whether it may be started with these parameters now, in which variables have been put; none: it may.
    std::function<result<void>(server_params const&)> check_start = {};
    /// Whether it may go on, now that it has begun to talk; none: it may.
    std::function<result<void>(server_params const&)> check_started = {};
    /// Its process is started there.
    std::shared_ptr<os::host_programs const> host = os::host_programs::now();
};

} // namespace ipybox::mcp::detail
