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
 * \brief The tools that a server listed last: their names, and what they say about their effects.
 * \par Thread safety Safe.
 */
class listed_tools {
  public:
    void replace(std::vector<tool> const& tools) {
        std::map<std::string, ipybox::detail::tool_annotations> listed;
        for (auto const& each : tools) listed.emplace(each.name, annotations_of(each));
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
        return found == tools_.end() ? std::nullopt : std::optional(found->second);
    }

  private:
    mutable std::mutex mutex_;
    std::map<std::string, ipybox::detail::tool_annotations> tools_;
};

} // namespace ipybox::mcp::detail
