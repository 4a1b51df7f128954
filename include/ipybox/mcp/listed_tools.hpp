#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/tool_annotations.hpp>
#include <ipybox/mcp/tool.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::mcp::detail {

/**
 * \brief The tools that a server listed last: their names, and what they say about their effects. With them the
 * server's instructions.
 * \par Thread safety Safe.
 */
class listed_tools {
  public:
    void replace(std::vector<tool> const& tools) {
        std::map<std::string, listed_tool> listed;
        for (auto const& each : tools) listed.emplace(each.name, listed_tool{annotations_of(each), each.needs_task});
        std::scoped_lock const lock(mutex_);
        tools_ = std::move(listed);
    }

    [[nodiscard]] bool contains(std::string const& name) const {
        std::scoped_lock const lock(mutex_);
        return tools_.contains(name);
    }

    [[nodiscard]] std::optional<ipybox::detail::tool_annotations> annotations(std::string const& name) const {
        std::scoped_lock const lock(mutex_);
        auto const found = tools_.find(name);
        return found == tools_.end() ? std::nullopt : std::optional(found->second.annotations);
    }

    /// Whether the server runs it as a task only.
    [[nodiscard]] bool needs_task(std::string const& name) const {
        std::scoped_lock const lock(mutex_);
        auto const found = tools_.find(name);
        return found != tools_.end() && found->second.needs_task;
    }

    /// The `instructions` of the server, of its latest start; empty: it has none.
    void instruct(std::string text) {
        std::scoped_lock const lock(mutex_);
        instructions_ = std::move(text);
    }

    [[nodiscard]] std::string instructions() const {
        std::scoped_lock const lock(mutex_);
        return instructions_;
    }

  private:
    struct listed_tool {
        ipybox::detail::tool_annotations annotations;
        bool needs_task;
    };

    mutable std::mutex mutex_;
    std::string instructions_;
    std::map<std::string, listed_tool> tools_;
};

} // namespace ipybox::mcp::detail
