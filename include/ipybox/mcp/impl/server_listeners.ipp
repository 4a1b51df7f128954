#pragma once

#include <ipybox/mcp/server_listeners.hpp>

#include <utility>

namespace ipybox::mcp::detail {

IPYBOX_DECL void server_listeners::on_gone(std::weak_ptr<function const> told) { add(gone_, std::move(told)); }

IPYBOX_DECL void server_listeners::on_changed(std::weak_ptr<function const> told) { add(changed_, std::move(told)); }

IPYBOX_DECL void server_listeners::add(functions& to, std::weak_ptr<function const> told) {
    std::scoped_lock const lock(mutex_);
    std::erase_if(to, [](auto const& each) { return each.expired(); });
    to.push_back(std::move(told));
}

IPYBOX_DECL void server_listeners::tell(functions const& all, std::string const& server) const {
    functions copy;
    {
        std::scoped_lock const lock(mutex_);
        copy = all;
    }
    for (auto const& each : copy)
        if (auto const told = each.lock()) (*told)(server);
}

} // namespace ipybox::mcp::detail
