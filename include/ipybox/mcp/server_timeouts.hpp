#pragma once

#include <chrono>
#include <optional>

namespace ipybox::mcp {

/// How long one waits for servers, in the place of what their parameters say.
struct server_timeouts {
    std::optional<std::chrono::milliseconds> tool = {};    ///< of a call, and of a list of tools
    std::optional<std::chrono::milliseconds> connect = {}; ///< from the start until a version is agreed on
};

} // namespace ipybox::mcp
