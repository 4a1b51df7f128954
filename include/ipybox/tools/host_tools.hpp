#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/tools/host_tool.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ipybox {

/**
 * \brief Several host tools under one name: those of an object of the application, say. `executor_base::add_tools`
 * offers them, all or none.
 * \par Example
 * \snippet 18_host_object.cpp tools
 */
class host_tools {
  public:
    /// \param package what Python imports them from: `mcptools.PACKAGE`
    /// \param shared the options of tools that are added without options of their own: the executor of the object, say
    explicit host_tools(std::string package, host_tool::options shared = {})
        : package_(std::move(package)), options_(std::move(shared)) {}

    /// Adds a tool.
    host_tools& add(host_tool tool) {
        tools_.push_back(std::move(tool));
        return *this;
    }

    /// Adds a function with a name for each of its parameters, as `host_tool` does.
    template <std::size_t N, class F>
    host_tools& add(std::string name, std::string description, host_tool::parameter const (&parameters)[N],
                    F function) {
        return add(host_tool(std::move(name), std::move(description), parameters, std::move(function), options_));
    }

    /// Adds a function without parameters, or with one struct, as `host_tool` does.
    template <class F>
    host_tools& add(std::string name, std::string description, F function) {
        return add(host_tool(std::move(name), std::move(description), std::move(function), options_));
    }

    /// The name of the package.
    [[nodiscard]] std::string const& package() const noexcept { return package_; }
    /// The tools, in the order in which they were added.
    [[nodiscard]] std::vector<host_tool> const& list() const noexcept { return tools_; }

  private:
    std::string package_;
    host_tool::options options_;
    std::vector<host_tool> tools_;
};

} // namespace ipybox
