#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace ipybox::mcp {

/// How a tool is called.
struct call_options {
    /// The progress that a server reports while it works on a call. Its text: carried, never interpreted.
    struct progress {
        double done = 0;                         ///< grows with each report
        std::optional<double> total = {};        ///< what `done` will be at the end, where that is known
        std::optional<std::string> message = {}; ///< what it is doing
    };

    /// The budget of the call, the start of its server included. None: what the server's parameters say, and else no
    /// bound but cancellation.
    std::optional<std::chrono::milliseconds> timeout = {};

    /// Called with each report, on the registry's executor, before the call completes. Only with it progress is asked
    /// for. Its exceptions are dropped.
    std::function<void(progress const&)> on_progress = {};
};

} // namespace ipybox::mcp
