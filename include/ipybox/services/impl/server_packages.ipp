#pragma once

#include <ipybox/async/aside.hpp>
#include <ipybox/async/context_bound_executor.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/codegen/generate.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/first_line.hpp>
#include <ipybox/mcp/server_registry.hpp>
#include <ipybox/services/server_packages.hpp>

#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <exception>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

namespace ipybox::detail {

IPYBOX_DECL std::shared_ptr<server_packages> server_packages::make(asio::any_io_executor const& executor,
                                                                   std::shared_ptr<mcp::server_registry> servers) {
    auto const made = std::make_shared<server_packages>(executor, std::move(servers));
    // A registry that is shared tells on an executor of its own.
    auto const here = std::make_shared<context_bound_executor const>(executor);
    auto const outdate = [here, weak = std::weak_ptr(made)](std::string const& server) {
        here->post([weak, server] {
            if (auto const self = weak.lock()) self->outdate(server);
        });
    };
    made->on_changed_ = std::make_shared<std::function<void(std::string const&)> const>(outdate);
    made->servers_->listeners().on_changed(made->on_changed_);
    return made;
}

IPYBOX_DECL server_packages::server_packages(asio::any_io_executor const& executor,
                                             std::shared_ptr<mcp::server_registry> servers)
    : executor_(executor), servers_(std::move(servers)), on_end_(executor, asio::steady_timer::time_point::max()) {}

IPYBOX_DECL void server_packages::offer(std::string const& server, generated_place place, listener heard) {
    auto& offered = packages_[server];
    auto root = place.root_dir;
    offered.places.insert_or_assign(std::move(root), std::move(place));
    if (heard) offered.heard = std::move(heard);
    offered.is_usable = false;
    offered.has_changed = offered.is == state::under_way;
    if (offered.is != state::under_way) offered.is = state::offered;
}

IPYBOX_DECL void server_packages::offer(std::shared_ptr<server_source> source, server_source::approval approve,
                                        generated_place place, listener heard) {
    source_ = std::move(source);
    approve_ = std::move(approve);
    of_source_ = entry();
    of_source_.is_asked_for = true;
    of_source_.heard = std::move(heard);
    auto root = place.root_dir;
    of_source_.places.insert_or_assign(std::move(root), std::move(place));
}

IPYBOX_DECL bool server_packages::is_of_source(std::string const& server) const {
    return source_ && source_->has(server) && !servers_->has(server);
}

/// Its package is generated as well: code that calls its tools may import them too.
IPYBOX_DECL asio::awaitable<result<void>> server_packages::find_server(std::shared_ptr<server_packages> self,
                                                                       std::string server) {
    if (self->servers_->has(server)) co_return result<void>();
    if (!self->is_of_source(server))
        co_return failure(errc::mcp_server_unknown,
                          "no MCP server '" + server +
                              "' is registered any more: register it again, or name it in the "
                              "configuration of MCP servers");
    package_request wanted;
    wanted.server = server;
    auto const states = co_await ready(self, std::move(wanted));
    auto const found = states.find(server);
    if (found == states.end()) co_return failure(errc::cancelled, "the call was cancelled");
    if (!found->second.empty()) co_return failure(errc::mcp_start_failed, found->second);
    co_return result<void>();
}

IPYBOX_DECL void server_packages::remember(std::string const& server, generated_place place) {
    auto& known = packages_[server];
    auto root = place.root_dir;
    known.places.insert_or_assign(std::move(root), std::move(place));
    known.is_usable = true;
    if (known.is != state::under_way) known.is = state::there;
}

IPYBOX_DECL void server_packages::outdate(std::string const& server) {
    auto const found = packages_.find(server);
    if (found == packages_.end()) return;
    if (found->second.is == state::there) found->second.is = state::outdated;
    found->second.has_changed = found->second.is == state::under_way;
}

IPYBOX_DECL void server_packages::begin_all() {
    for (auto& [server, package] : packages_)
        if (!package.is_asked_for && (package.is == state::offered || package.is == state::outdated))
            package.is = state::in_turn;
    begin_next();
}

/// Servers take seconds of the processor when they start: all at once would hold up cells and each other.
IPYBOX_DECL void server_packages::begin_next() {
    auto const most = 2 * std::max(2U, std::thread::hardware_concurrency());
    for (auto& [server, package] : packages_) {
        if (in_background_ >= most) return;
        if (package.is != state::in_turn) continue;
        package.in_background = true;
        ++in_background_;
        begin(server);
    }
}

IPYBOX_DECL asio::awaitable<package_states> server_packages::ready(std::shared_ptr<server_packages> self,
                                                                   package_request wanted) {
    auto const& server = wanted.server;
    if (!wanted.waits) co_return self->states(server);
    if (self->is_of_source(server)) self->packages_.try_emplace(server, self->of_source_);
    auto const found = self->packages_.find(server);
    if (server.empty())
        self->begin_all();
    else if (found != self->packages_.end() && found->second.is != state::there)
        self->begin(server);
    auto const state = co_await asio::this_coro::cancellation_state;
    while (self->is_under_way(server) && state.cancelled() == asio::cancellation_type::none) {
        asio::error_code woken;
        co_await self->on_end_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
    co_return self->states(server);
}

/// Those that are registered no more are not told of.
IPYBOX_DECL package_states server_packages::states(std::string const& server) const {
    package_states found;
    auto names = servers_->package_names();
    if (source_) std::ranges::copy(source_->names(), std::back_inserter(names));
    for (auto const& name : names) {
        if (!server.empty() && name != server) continue;
        auto& why = found[name];
        auto const package = packages_.find(name);
        // One that is asked for before it starts may be there since an earlier run.
        if (package == packages_.end() || package->second.is_usable) continue;
        if (package->second.is_asked_for && package->second.is == state::offered) continue;
        why = package->second.is == state::failed ? package->second.why : "its package is generated when it is needed";
    }
    return found;
}

IPYBOX_DECL bool server_packages::is_under_way(std::string const& server) const {
    for (auto const& [name, package] : packages_)
        if ((server.empty() || name == server) && (package.is == state::under_way || package.is == state::in_turn))
            return true;
    return false;
}

IPYBOX_DECL void server_packages::begin(std::string const& server) {
    auto& package = packages_[server];
    if (std::exchange(package.is, state::under_way) == state::under_way) return;
    spawn(executor_, generate(shared_from_this(), server));
}

IPYBOX_DECL asio::awaitable<void> server_packages::generate(std::shared_ptr<server_packages> self, std::string server) {
    made outcome;
    try {
        outcome = co_await self->make(server);
    } catch (...) { outcome = failure(error_of(std::current_exception())); }
    self->end(server, outcome);
}

IPYBOX_DECL asio::awaitable<server_packages::made> server_packages::make(std::string server) {
    auto is_registered = co_await registered(server);
    if (!is_registered) co_return failure(is_registered);
    auto tools = co_await servers_->list_tools(server);
    if (!tools) co_return failure(tools);
    auto const listed = std::make_shared<std::vector<mcp::tool> const>(std::move(*tools));
    auto const write = [listed, server, places = packages_[server].places,
                        instructions = servers_->instructions(server)] {
        made written;
        for (auto const& [root, place] : places) {
            auto options = *place.options;
            if (options.instructions.empty()) options.instructions = instructions;
            written = codegen::generate(server, *listed, root, options);
            if (!written) break;
        }
        return written;
    };
    co_return co_await aside(aside_, write);
}

/// Registers a server that the source knows, once it is approved.
IPYBOX_DECL asio::awaitable<result<void>> server_packages::registered(std::string server) {
    if (!is_of_source(server)) co_return result<void>();
    co_return co_await source_->add_to(*servers_, server, approve_);
}

IPYBOX_DECL void server_packages::end(std::string const& server, made const& outcome) {
    auto& package = packages_[server];
    bool const was_stopped = !outcome && (outcome.error() == errc::not_running || outcome.error() == errc::cancelled);
    package.is_usable = package.is_usable || outcome;
    if (package.is_usable)
        package.is = std::exchange(package.has_changed, false) || !outcome ? state::outdated : state::there;
    else
        package.is = was_stopped ? state::offered : state::failed;
    package.why = outcome ? "" : std::string(first_line(outcome.error().text()));
    on_end_.cancel();
    if (std::exchange(package.in_background, false)) --in_background_;
    begin_next();
    if (auto const heard = package.heard; heard && !was_stopped) heard(server, outcome);
}

} // namespace ipybox::detail
