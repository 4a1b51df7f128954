#pragma once

#include <ipybox/mcp/server_registry.hpp>
#include <ipybox/tools/host_tool.hpp>
#include <ipybox/tools/tool_package.hpp>
#include <ipybox/tools/tool_packages.hpp>

#include <utility>

namespace ipybox::detail {

IPYBOX_DECL tool_packages::tool_packages(asio::any_io_executor const& executor,
                                         std::shared_ptr<mcp::server_registry> registry)
    : places_(executor), registry_(std::move(registry)) {}

IPYBOX_DECL tool_packages::~tool_packages() { end(std::chrono::milliseconds(0)); }

IPYBOX_DECL result<void> tool_packages::add(std::string const& package, std::vector<host_tool> tools) {
    auto const offered = tool_package::shared(std::move(tools)); // what is refused ends behind the lock
    std::scoped_lock const lock(mutex_);
    if (ended_) return failure(errc::not_running);
    auto const known = packages_.find(package);
    if (known != packages_.end()) return known->second->add(offered);
    auto made = std::make_shared<tool_package>(package, places_);
    if (auto added = made->add(offered); !added) return added;
    if (auto registered = registry_->add(package, made); !registered) return registered;
    packages_.emplace(package, std::move(made));
    return {};
}

IPYBOX_DECL std::shared_ptr<tool_package> tool_packages::find(std::string const& package) const {
    std::scoped_lock const lock(mutex_);
    auto const found = packages_.find(package);
    return found == packages_.end() ? nullptr : found->second;
}

IPYBOX_DECL bool tool_packages::remove(std::string const& package, std::string const& tool) {
    auto const found = find(package);
    return found && found->remove(tool);
}

IPYBOX_DECL bool tool_packages::remove(std::string const& package) {
    std::shared_ptr<tool_package> removed; // with what is the application's, behind the lock
    {
        std::scoped_lock const lock(mutex_);
        if (auto found = packages_.extract(package)) removed = std::move(found.mapped());
    }
    return removed && registry_->remove(package);
}

IPYBOX_DECL std::vector<std::string> tool_packages::names() const {
    std::scoped_lock const lock(mutex_);
    std::vector<std::string> all;
    for (auto const& [package, own] : packages_)
        for (auto const& tool : own->tools()) all.push_back(package + "." + tool.name);
    return all;
}

IPYBOX_DECL std::optional<std::vector<mcp::tool>> tool_packages::list(std::string const& package) const {
    auto const found = find(package);
    if (!found) return std::nullopt;
    return found->tools();
}

IPYBOX_DECL bool tool_packages::runs_here() const { return places_.threads->runs_here(); }

IPYBOX_DECL void tool_packages::end(std::chrono::milliseconds bound) {
    std::map<std::string, std::shared_ptr<tool_package>> ending;
    {
        std::scoped_lock const lock(mutex_);
        ended_ = true;
        ending = std::exchange(packages_, {});
    }
    for (auto const& [name, package] : ending) (void)registry_->remove(name);
    places_.turns->end();
    places_.threads->end();
    (void)places_.threads->wait(bound);
}

} // namespace ipybox::detail
