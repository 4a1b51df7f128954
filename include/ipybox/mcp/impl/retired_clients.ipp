#pragma once

#include <ipybox/mcp/client.hpp>
#include <ipybox/mcp/retired_clients.hpp>

namespace ipybox::mcp::detail {

IPYBOX_DECL void retired_clients::add(std::shared_ptr<client> const& one) {
    {
        std::scoped_lock const lock(mutex_);
        std::erase_if(clients_, [](auto const& other) { return other.expired(); });
        clients_.push_back(one);
    }
    one->retire();
}

IPYBOX_DECL void retired_clients::kill() {
    std::scoped_lock const lock(mutex_);
    for (auto const& weak : clients_)
        if (auto const ending = weak.lock()) ending->kill();
}

} // namespace ipybox::mcp::detail
