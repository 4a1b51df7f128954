#pragma once

#include <ipybox/tools/tool_executor.hpp>

#include <optional>
#include <string>

namespace ipybox {

/// How a host tool is called, and what is said of it.
struct tool_options {
    tool_executor executor = {};          ///< where it is called
    std::string title = {};               ///< its name for people
    std::optional<bool> read_only = {};   ///< it changes nothing
    std::optional<bool> destructive = {}; ///< it may destroy something
    std::optional<bool> idempotent = {};  ///< to call it twice does no more than to call it once
    std::optional<bool> open_world = {};  ///< it deals with what is outside of the application
};

} // namespace ipybox
