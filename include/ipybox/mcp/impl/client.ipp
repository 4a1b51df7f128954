#pragma once

#include <ipybox/async/await_completion.hpp>
#include <ipybox/mcp/client.hpp>
#include <ipybox/mcp/content_request_machine.hpp>
#include <ipybox/mcp/impl/client_core.hpp>
#include <ipybox/mcp/item_list_machine.hpp>
#include <ipybox/mcp/tool_call_machine.hpp>
#include <ipybox/mcp/tool_list_machine.hpp>

#include <utility>

namespace ipybox::mcp::detail {

using core_ptr = std::shared_ptr<client_core>;

// While they wait, these coroutines belong to the core, by way of their completions: so they let go of it first. A
// context that is destroyed then destroys all of it.

template <class Machine>
asio::awaitable<result<typename Machine::value_type>> run(core_ptr core, result<Machine> machine,
                                                          call_options options) {
    using outcome = result<typename Machine::value_type>;
    if (!machine) co_return failure(machine);
    auto const current = co_await asio::this_coro::executor;
    auto const begin = [&](ipybox::detail::completion<outcome> done) {
        std::exchange(core, nullptr)->run(current, std::move(*machine), std::move(options), std::move(done));
    };
    co_return co_await ipybox::detail::await_completion<outcome>(begin);
}

inline asio::awaitable<result<std::vector<tool>>> list(core_ptr core, call_options options) {
    auto const listed = core->listed();
    if (!options.timeout) options.timeout = core->params().list_timeout;
    auto reading = run(std::exchange(core, nullptr), result<tool_list_machine>(), std::move(options));
    auto tools = co_await std::move(reading);
    if (tools) listed->replace(*tools);
    co_return tools;
}

/// A call of a tool as its server runs it.
template <class Arguments>
result<tool_call_machine> calling(client_core const& core, std::string const& tool, Arguments&& arguments) {
    auto machine = tool_call_machine::make(tool, std::forward<Arguments>(arguments));
    if (machine && core.listed()->needs_task(tool)) machine->need_task();
    return machine;
}

inline asio::awaitable<result<call_result>> call_listed(core_ptr core, std::string tool, raw_json arguments,
                                                        call_options options) {
    auto const listed = core->listed();
    if (!listed->contains(tool)) {
        std::weak_ptr const weak = core;
        auto reading = list(std::exchange(core, nullptr), {});
        auto tools = co_await std::move(reading);
        if (!tools) co_return failure(tools);
        core = weak.lock();
        if (!core) co_return failure(errc::not_running, "the MCP server is no longer registered");
        if (!listed->contains(tool))
            co_return failure(error_of(core->name(), error(errc::mcp_refused, "lists no tool \"" + tool + '"')));
    }
    auto machine = calling(*core, tool, std::move(arguments));
    auto called = run(std::exchange(core, nullptr), std::move(machine), std::move(options));
    co_return co_await std::move(called);
}

template <item_list const& List>
asio::awaitable<result<raw_json>> list_items(core_ptr core, call_options options) {
    if (!options.timeout) options.timeout = core->params().list_timeout;
    return run(std::move(core), result<item_list_machine<List>>(), std::move(options));
}

inline asio::awaitable<result<raw_json>> ask(core_ptr core, server_query query, call_options options) {
    using resource_machine = content_request_machine<resource_request>;
    using prompt_machine = content_request_machine<prompt_request>;
    switch (query.what) {
    case server_query::method::list_resources: return list_items<resource_list>(std::move(core), std::move(options));
    case server_query::method::list_resource_templates:
        return list_items<resource_template_list>(std::move(core), std::move(options));
    case server_query::method::list_prompts: return list_items<prompt_list>(std::move(core), std::move(options));
    case server_query::method::read_resource:
        return run(std::move(core), result<resource_machine>(resource_machine(query.name)), std::move(options));
    case server_query::method::get_prompt: break;
    }
    auto arguments = query.arguments ? std::move(*query.arguments).take() : std::string();
    return run(std::move(core), result<prompt_machine>(prompt_machine(query.name, std::move(arguments))),
               std::move(options));
}

inline asio::awaitable<void> stop(core_ptr core) {
    auto const current = co_await asio::this_coro::executor;
    auto const begin = [&](ipybox::detail::completion<bool> done) {
        std::exchange(core, nullptr)->stop(current, std::move(done));
    };
    (void)co_await ipybox::detail::await_completion<bool>(begin);
}

inline asio::awaitable<std::optional<session>> describe(core_ptr core) {
    using outcome = std::optional<session>;
    auto const begin = [&](ipybox::detail::completion<outcome> done) {
        std::exchange(core, nullptr)->describe(std::move(done));
    };
    co_return co_await ipybox::detail::await_completion<outcome>(begin);
}

IPYBOX_DECL client::client(asio::any_io_executor executor, std::string name, server_params params,
                           client_environment surroundings)
    : core_(detail::client_core::make(std::move(executor), std::move(name), std::move(params),
                                      std::move(surroundings))) {}

IPYBOX_DECL client::~client() {
    if (!core_->retired()) core_->kill();
}

IPYBOX_DECL std::string const& client::name() const noexcept { return core_->name(); }
IPYBOX_DECL server_params const& client::params() const noexcept { return core_->params(); }

IPYBOX_DECL std::optional<ipybox::detail::tool_annotations> client::annotations(std::string const& tool) const {
    return core_->listed()->annotations(tool);
}

IPYBOX_DECL std::string client::instructions() const { return core_->listed()->instructions(); }

IPYBOX_DECL asio::awaitable<result<std::vector<tool>>> client::list_tools(call_options options) {
    return detail::list(core_, std::move(options));
}

IPYBOX_DECL asio::awaitable<result<call_result>>
client::call(std::string const& tool, nlohmann::ordered_json const& arguments, call_options options) {
    return detail::run(core_, detail::calling(*core_, tool, arguments), std::move(options));
}

IPYBOX_DECL asio::awaitable<result<call_result>> client::call(std::string const& tool, raw_json arguments,
                                                              call_options options) {
    return detail::run(core_, detail::calling(*core_, tool, std::move(arguments)), std::move(options));
}

IPYBOX_DECL asio::awaitable<result<call_result>>
client::call_sorted(std::string const& tool, nlohmann::json const& arguments, call_options options) {
    return detail::run(core_, detail::calling(*core_, tool, arguments), std::move(options));
}

IPYBOX_DECL asio::awaitable<result<call_result>> client::call_listed(std::string tool, raw_json arguments,
                                                                     call_options options) {
    return detail::call_listed(core_, std::move(tool), std::move(arguments), std::move(options));
}

IPYBOX_DECL asio::awaitable<result<raw_json>> client::ask(server_query query, call_options options) {
    return detail::ask(core_, std::move(query), std::move(options));
}

IPYBOX_DECL asio::awaitable<void> client::stop() { return detail::stop(core_); }

IPYBOX_DECL void client::kill() { core_->kill(); }

IPYBOX_DECL void client::retire() { core_->retire(); }

IPYBOX_DECL asio::awaitable<std::optional<session>> client::current_session() { return detail::describe(core_); }

} // namespace ipybox::mcp::detail
