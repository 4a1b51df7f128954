#pragma once

#include <ipybox/async/post_work.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/mcp/client.hpp>
#include <ipybox/mcp/impl/all_of.hpp>
#include <ipybox/mcp/offered_channel.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/server_file.hpp>
#include <ipybox/mcp/server_registry.hpp>

#include <asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include <exception>
#include <utility>

namespace ipybox::mcp {
namespace detail {

template <class T>
asio::awaitable<result<T>> failed(error why) {
    co_return failure(std::move(why));
}

inline asio::awaitable<result<std::vector<tool>>> listed(std::vector<tool> tools) { co_return std::move(tools); }

inline asio::awaitable<result<call_result>> call_with(std::shared_ptr<tool_provider> const& own,
                                                      std::string const& tool, result<raw_json> arguments,
                                                      call_options const& options) {
    return arguments ? own->call(tool, std::move(*arguments), options) : failed<call_result>(arguments.error());
}

} // namespace detail

IPYBOX_DECL server_registry::server_registry(asio::any_io_executor executor, registry_options options)
    : executor_(std::move(executor)), options_(std::move(options)) {}

IPYBOX_DECL server_registry::~server_registry() {
    for (auto const& client : clients()) client->kill();
    retired_.kill();
}

IPYBOX_DECL result<std::shared_ptr<detail::client>>
server_registry::make_client(std::string const& name, server_params params,
                             std::optional<detail::file_memory> approved) {
    if (!options_.make_channel && params.command.empty() && params.url.empty())
        return failure(errc::invalid_argument,
                       "the parameters of the MCP server '" + name + "' have neither `command` nor `url`");
    detail::client_environment surroundings{options_.make_channel, options_.variables, {}, {}, {}, host_};
    auto const memory = std::make_shared<detail::start_memory>(known_code_, std::move(approved));
    memories_[name] = memory;
    surroundings.check_start = [memory](server_params const& expanded) { return memory->check(expanded); };
    surroundings.check_started = [memory](server_params const& expanded) { return memory->check_started(expanded); };
    surroundings.on_tools_changed = [weak = std::weak_ptr(listeners_), call = options_.on_tools_changed, name] {
        auto const listeners = weak.lock();
        if (!listeners) return; // the registry has ended
        listeners->tell_changed(name);
        if (call) call(name);
    };
    std::shared_ptr<detail::client> made;
    executor_.with([&](asio::any_io_executor const& executor) {
        made = detail::client::make(executor, name, std::move(params), std::move(surroundings));
    });
    if (!made) return failure(errc::not_running, "the I/O context of the registry of MCP servers was destroyed");
    return made;
}

/// With the lock held.
IPYBOX_DECL result<void> server_registry::check_free(std::string const& name) const {
    if (clients_.contains(name))
        return failure(errc::mcp_server_exists,
                       "an MCP server '" + name + "' is registered already; choose another name");
    if (providers_.contains(name))
        return failure(errc::mcp_server_exists,
                       "the application offers tools as '" + name + "' already; choose another name");
    return {};
}

IPYBOX_DECL result<void> server_registry::add(std::string name, server_params params) {
    if (auto named = detail::check_server_name(name); !named) return named;
    auto approved = remember(params); // asks the application for variables: without the lock
    std::scoped_lock const lock(mutex_);
    if (auto is_free = check_free(name); !is_free) return is_free;
    auto made = make_client(name, std::move(params), std::move(approved));
    if (!made) return failure(made);
    clients_.emplace(name, std::move(*made));
    return {};
}

IPYBOX_DECL result<void> server_registry::replace(std::string name, server_params params,
                                                  std::optional<detail::file_memory> approved) {
    if (auto named = detail::check_server_name(name); !named) return named;
    if (!approved) approved = remember(params);
    bool is_other = false;
    std::shared_ptr<detail::client> old; // ended, and dropped, behind the lock: its sandbox is the application's
    {
        std::scoped_lock const lock(mutex_);
        if (!clients_.contains(name))
            if (auto is_free = check_free(name); !is_free) return is_free;
        auto made = make_client(name, std::move(params), std::move(approved));
        if (!made) return failure(made);
        old = std::exchange(clients_[name], std::move(*made));
        is_other = old && !detail::are_same(old->params(), clients_[name]->params());
    }
    if (old) retired_.add(old);
    if (is_other) listeners_->tell_gone(name);
    return {};
}

IPYBOX_DECL result<registered_servers> server_registry::add_file(std::filesystem::path const& file,
                                                                 server_timeouts const& timeouts) {
    auto servers = detail::read_server_file(file);
    return servers ? add_from(file, std::move(*servers), timeouts) : failure(servers);
}

IPYBOX_DECL result<registered_servers> server_registry::add_from(std::filesystem::path const& file,
                                                                 std::vector<detail::named_server> servers,
                                                                 server_timeouts const& timeouts) {
    registered_servers registered;
    auto const notice = [&](detail::named_server const& server, std::string_view what) {
        registered.notices.push_back(file.string() + ": the server " + json_string(server.written).append(what));
    };
    auto const is_unusable = [&](detail::named_server const& server) {
        bool const can_reach = options_.make_channel || offered_channel::current();
        if (server.params && (can_reach || !server.params->is_remote())) return false;
        auto const why = server.params ? "it " + std::string(offered_channel::missing) : server.params.error().text();
        notice(server, " is left out: " + why);
        registered.left_out.push_back(server.written);
        return true;
    };
    if (std::erase_if(servers, is_unusable) > 0 && servers.empty())
        return failure(errc::invalid_argument, registered.notices.front() + "; the file has no other server");
    std::map<std::string, std::optional<detail::file_memory>> approved;
    for (auto const& server : servers) approved[server.name] = remember(*server.params);
    std::scoped_lock const lock(mutex_);
    for (auto const& server : servers)
        if (clients_.contains(server.name) || providers_.contains(server.name))
            return failure(errc::mcp_server_exists, file.string() + ": an MCP server '" + server.name +
                                                        "' is registered already: remove or rename one of them");
    configurations_.push_back(file);
    for (auto& server : servers) {
        if (server.name != server.written)
            notice(server, " is registered as " + server.name + ", for Python imports it");
        detail::set_timeouts(*server.params, timeouts);
        auto made = make_client(server.name, *std::move(server.params), std::move(approved[server.name]));
        if (!made) return failure(made);
        clients_.emplace(server.name, std::move(*made));
        registered.names.push_back(std::move(server.name));
    }
    return registered;
}

/// Of all that are registered now, so that they can be used without the lock.
IPYBOX_DECL std::vector<std::shared_ptr<detail::client>> server_registry::clients() const {
    std::scoped_lock const lock(mutex_);
    std::vector<std::shared_ptr<detail::client>> all;
    all.reserve(clients_.size());
    for (auto const& [name, client] : clients_) all.push_back(client);
    return all;
}

IPYBOX_DECL std::map<std::string, detail::server_files> server_registry::files_by_server() const {
    std::map<std::string, detail::server_files> files;
    for (auto const& client : clients()) {
        auto const params = expanded(client->params());
        if (params && !params->is_remote()) files.emplace(client->name(), detail::files_of(*params));
    }
    return files;
}

IPYBOX_DECL detail::server_files server_registry::files() const {
    detail::server_files all;
    for (auto const& [name, files] : files_by_server()) {
        all.read_only.insert(all.read_only.end(), files.read_only.begin(), files.read_only.end());
        all.missing.insert(all.missing.end(), files.missing.begin(), files.missing.end());
        all.secret.insert(all.secret.end(), files.secret.begin(), files.secret.end());
    }
    {
        std::scoped_lock const lock(mutex_);
        all.secret.insert(all.secret.end(), configurations_.begin(), configurations_.end());
    }
    for (auto* const list : {&all.read_only, &all.missing, &all.secret}) { // each is looked at by a sandbox
        std::ranges::sort(*list);
        list->erase(std::ranges::unique(*list).begin(), list->end());
    }
    return all;
}

IPYBOX_DECL result<void> server_registry::add(std::string name, std::shared_ptr<tool_provider> provider) {
    if (auto named = detail::check_server_name(name); !named) return named;
    std::scoped_lock const lock(mutex_);
    if (auto is_free = check_free(name); !is_free) return is_free;
    providers_.emplace(std::move(name), std::move(provider));
    return {};
}

IPYBOX_DECL std::shared_ptr<tool_provider> server_registry::provider(std::string const& name) const {
    std::scoped_lock const lock(mutex_);
    auto const found = providers_.find(name);
    return found == providers_.end() ? nullptr : found->second;
}

IPYBOX_DECL bool server_registry::remove(std::string const& name) {
    // Ended, and dropped, behind the lock: they have what is the application's.
    std::shared_ptr<tool_provider> provider;
    std::shared_ptr<detail::client> client;
    {
        std::scoped_lock const lock(mutex_);
        if (auto const found = providers_.extract(name))
            provider = std::move(found.mapped());
        else if (auto const server = clients_.extract(name))
            client = std::move(server.mapped());
        if (client) memories_.erase(name);
    }
    if (provider) provider->end();
    if (client) retired_.add(client);
    if (client || provider) listeners_->tell_gone(name);
    return provider || client;
}

IPYBOX_DECL void server_registry::add_reach(os::code_reach const& more) {
    if (!host_->add_reach(more)) return;
    std::map<std::string, std::shared_ptr<detail::start_memory>> memories;
    {
        std::scoped_lock const lock(mutex_);
        memories = memories_;
    }
    for (auto const& client : clients())
        if (auto const memory = memories.find(client->name()); memory != memories.end()) {
            auto whole = expanded(client->params());
            memory->second->extend(whole ? std::optional(std::move(*whole)) : std::nullopt, host_->reach());
        }
}

IPYBOX_DECL void server_registry::code_runs(os::code_reach const& where) const { known_code_->add(where); }

IPYBOX_DECL result<server_params> server_registry::expanded(server_params params) const {
    auto whole = detail::put_variables(std::move(params), options_.variables, host_->environment());
    if (whole) whole->host = host_;
    return whole;
}

IPYBOX_DECL std::optional<detail::file_memory> server_registry::remember(server_params const& params) const {
    if (host_->reach().empty()) return detail::file_memory(); // code that comes is announced before
    auto const whole = expanded(params);
    if (!whole || whole->is_remote()) return std::nullopt;
    return detail::file_memory::of(detail::files_of(*whole).code, host_->reach());
}

IPYBOX_DECL detail::server_preview server_registry::preview(std::string const& name, server_params const& params,
                                                            std::optional<detail::file_memory> const& before) const {
    detail::server_preview seen;
    if (auto const now = this->params(name); now && !detail::are_same(*now, params))
        seen.replaces = detail::words_of(*now);
    auto const whole = expanded(params);
    if (!whole || whole->is_remote()) return seen;
    detail::look_at(seen, *whole, host_->reach(), *known_code_);
    if (seen.changed.empty() && before) seen.changed = seen.memory.difference_from(*before, host_->reach());
    return seen;
}

IPYBOX_DECL std::vector<std::string> server_registry::names() const {
    std::scoped_lock const lock(mutex_);
    std::vector<std::string> names;
    names.reserve(clients_.size());
    for (auto const& [name, client] : clients_) names.push_back(name);
    return names;
}

IPYBOX_DECL bool server_registry::has(std::string const& name) const {
    std::scoped_lock const lock(mutex_);
    return clients_.contains(name) || providers_.contains(name);
}

IPYBOX_DECL std::vector<std::string> server_registry::package_names() const {
    auto all = names();
    std::scoped_lock const lock(mutex_);
    for (auto const& [name, own] : providers_) all.push_back(name);
    return all;
}

IPYBOX_DECL std::optional<server_params> server_registry::params(std::string const& name) const {
    auto const found = find(name);
    return found ? std::optional<server_params>((*found)->params()) : std::nullopt;
}

IPYBOX_DECL result<std::shared_ptr<detail::client>> server_registry::find(std::string const& name) const {
    std::scoped_lock const lock(mutex_);
    auto const found = clients_.find(name);
    if (found == clients_.end()) return failure(errc::mcp_server_unknown, "no MCP server '" + name + "' is registered");
    return found->second;
}

IPYBOX_DECL std::optional<ipybox::detail::tool_annotations>
server_registry::annotations(std::string const& server, std::string const& tool) const {
    if (auto const own = provider(server)) return own->annotations(tool);
    auto const client = find(server);
    return client ? (*client)->annotations(tool) : std::nullopt;
}

IPYBOX_DECL std::string server_registry::instructions(std::string const& server) const {
    auto const client = find(server);
    return client ? (*client)->instructions() : std::string();
}

IPYBOX_DECL asio::awaitable<result<std::vector<tool>>> server_registry::list_tools(std::string const& server,
                                                                                   call_options options) {
    if (auto const own = provider(server)) return detail::listed(own->tools());
    auto const client = find(server);
    return client ? (*client)->list_tools(std::move(options)) : detail::failed<std::vector<tool>>(client.error());
}

IPYBOX_DECL asio::awaitable<result<call_result>> server_registry::call(std::string const& server,
                                                                       std::string const& tool,
                                                                       nlohmann::ordered_json const& arguments,
                                                                       call_options options) {
    if (auto const own = provider(server)) return detail::call_with(own, tool, raw_json::of(arguments), options);
    auto const client = find(server);
    return client ? (*client)->call(tool, arguments, std::move(options)) : detail::failed<call_result>(client.error());
}

IPYBOX_DECL asio::awaitable<result<call_result>>
server_registry::call(std::string const& server, std::string const& tool, raw_json arguments, call_options options) {
    if (auto const own = provider(server)) return own->call(tool, std::move(arguments), std::move(options));
    auto const client = find(server);
    return client ? (*client)->call(tool, std::move(arguments), std::move(options))
                  : detail::failed<call_result>(client.error());
}

IPYBOX_DECL asio::awaitable<result<call_result>> server_registry::call_sorted(std::string const& server,
                                                                              std::string const& tool,
                                                                              nlohmann::json const& arguments,
                                                                              call_options options) {
    if (auto const own = provider(server)) return detail::call_with(own, tool, raw_json::of(arguments), options);
    auto const client = find(server);
    return client ? (*client)->call(tool, arguments, std::move(options)) : detail::failed<call_result>(client.error());
}

IPYBOX_DECL asio::awaitable<result<call_result>> server_registry::call_listed(std::string const& server,
                                                                              std::string const& tool,
                                                                              raw_json arguments,
                                                                              call_options options) {
    if (auto const own = provider(server)) return own->call(tool, std::move(arguments), std::move(options));
    auto const client = find(server);
    return client ? (*client)->call_listed(tool, std::move(arguments), std::move(options))
                  : detail::failed<call_result>(client.error());
}

IPYBOX_DECL asio::awaitable<result<raw_json>> server_registry::ask(std::string const& server, server_query query,
                                                                   call_options options) {
    if (provider(server))
        return detail::failed<raw_json>(
            {errc::invalid_argument, server + " has tools alone, which are the application's"});
    auto const client = find(server);
    return client ? (*client)->ask(std::move(query), std::move(options)) : detail::failed<raw_json>(client.error());
}

IPYBOX_DECL void server_registry::kill() {
    std::vector<std::shared_ptr<tool_provider>> providers;
    {
        std::scoped_lock const lock(mutex_);
        for (auto const& [name, own] : providers_) providers.push_back(own);
    }
    for (auto const& own : providers) own->end();
    for (auto const& client : clients()) client->kill();
    retired_.kill();
}

IPYBOX_DECL asio::awaitable<void> server_registry::stop() {
    std::vector<asio::awaitable<void>> stops;
    for (auto const& client : clients()) stops.push_back(client->stop());
    return detail::all_of(std::move(stops));
}

IPYBOX_DECL result<server_registry::tool_listing>
server_registry::list_tools_of(std::string const& server, server_params const& params, std::stop_token stop) {
    asio::io_context context;
    server_registry servers(context.get_executor());
    if (auto const added = servers.add(server, params); !added) return failure(added.error());
    result<tool_listing> listing;
    auto const on_ended = [](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    };
    auto const on_tools = [&](std::exception_ptr bug, result<std::vector<tool>> found) {
        on_ended(bug);
        listing = found ? result<tool_listing>(tool_listing{std::move(*found), servers.instructions(server)})
                        : failure(found.error());
        ipybox::detail::spawn(context.get_executor(), servers.stop(), on_ended);
    };
    ipybox::detail::spawn(context.get_executor(), servers.list_tools(server), on_tools);
    std::stop_callback const on_stop(stop, [&] {
        ipybox::detail::post_work(context.get_executor(),
                                  [&] { ipybox::detail::spawn(context.get_executor(), servers.stop(), on_ended); });
    });
    context.run();
    return listing;
}

} // namespace ipybox::mcp
