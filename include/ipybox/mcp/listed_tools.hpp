#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/tool.hpp>

#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::mcp::detail {

/**
 * \brief The names of the tools that a server listed last.
 * \par Thread safety Safe.
 */
class listed_tools {
  public:
    void replace(std::vector<tool> const& tools) {
        std::set<std::string> names;
        for (auto const& each : tools) names.insert(each.name);
        std::scoped_lock const lock(mutex_);
        names_ = std::move(names);
    }

    [[nodiscard]] bool contains(std::string const& name) const {
        std::scoped_lock const lock(mutex_);
        return names_.contains(name);
    }

  private:
    mutable std::mutex mutex_;
    std::set<std::string> names_;
};

} // namespace ipybox::mcp::detail
