#pragma once

#include <ipybox/app/kept_servers.hpp>
#include <ipybox/execution/executor_options.hpp>
#include <ipybox/mcp/server_timeouts.hpp>
#include <ipybox/sandbox/any_sandbox.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ipybox {

/// How much a program says of what it does.
enum class log_level { debug, info, warning, error, critical };

/// The decision about actions that no rule decides.
enum class action_approval {
    ask,    ///< the user of the MCP client, where it shows forms; else they are rejected
    accept, ///< all are accepted
    deny,   ///< all are rejected
};

/// How many sessions one client may have, each with a kernel of its own, and for how long.
struct named_sessions {
    std::chrono::milliseconds idle =
        std::chrono::hours(1); ///< a session is ended when nothing was asked of it, and no cell of it ran, for so long
    std::size_t most = 16;     ///< open at one time, besides the session of calls that name none
};

/// How a code_session works. Members are given in this order.
struct code_session_options {
    executor_options executor = {}; ///< `working_dir` is the workspace
    any_sandbox sandbox = bubblewrap_sandbox{};
    action_approval approval = action_approval::ask;

    /// Servers whose tools the code may call from the beginning; empty: none.
    std::filesystem::path mcp_config = {};
    mcp::server_timeouts server_timeouts = {}; ///< in the place of what that file says

    /// Where servers that models register are kept for later runs; none: they are not.
    std::shared_ptr<kept_servers> kept = nullptr;

    /// How long a call that executes a cell waits where it does not say; then it is answered with the cell's id. None:
    /// until the cell has ended.
    std::optional<std::chrono::milliseconds> wait = {};

    /// Sessions by names that the client chooses, with kernels of one runtime: see code_sessions. None: one kernel.
    std::optional<named_sessions> sessions = {};

    /// Gets what is to be logged, in one line; may be empty. Text of the code and of clients has been made safe.
    std::function<void(log_level, std::string_view)> log = {};
};

} // namespace ipybox
