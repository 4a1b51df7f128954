#pragma once

#include <ipybox/app/impl/kept_server_source.hpp>
#include <ipybox/app/impl/server_registration.hpp>
#include <ipybox/mcp/server_registry.hpp>

#include <utility>

namespace ipybox::detail {

IPYBOX_DECL std::vector<std::string> kept_server_source::names() const {
    std::vector<std::string> all;
    for (auto const& [name, server] : kept_->all()) all.push_back(name);
    return all;
}

IPYBOX_DECL asio::awaitable<result<void>> kept_server_source::add_to(mcp::server_registry& registry, std::string name,
                                                                     approval approve) {
    auto const kept = kept_->all().find(name);
    if (kept == kept_->all().end()) co_return failure(errc::mcp_server_unknown, "no MCP server '" + name + "' is kept");
    auto server = kept->second;
    auto wanted = server_registration::read(name, server.entry, workspace_, timeouts_);
    if (!wanted) co_return failure(wanted.error());
    wanted->look_at(registry, server.files);
    bool const still_holds = server.always && !wanted->subject.changed_files;
    auto subject = wanted->subject;
    auto asking = approve(std::move(subject), still_holds ? consent::standing : consent::fresh);
    auto const said = co_await std::move(asking);
    if (!said.accepted()) co_return failure(said.refusal());
    server.always = still_holds || said.made.granted() != nullptr;
    server.files = wanted->files;
    (void)kept_->keep(name, std::move(server));       // else it is asked about again
    if (registry.has(name)) co_return result<void>(); // by another session meanwhile
    co_return registry.replace(name, std::move(wanted->params), std::move(wanted->files));
}

} // namespace ipybox::detail
