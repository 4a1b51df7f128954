#pragma once

#include <ipybox/async/await_completion.hpp>
#include <ipybox/mcp/argument_check.hpp>
#include <ipybox/mcp/impl/server_core.hpp>
#include <ipybox/mcp/server.hpp>
#include <ipybox/mcp/server_declaration.hpp>

#include <asio/this_coro.hpp>

#include <optional>
#include <set>
#include <string>
#include <utility>

namespace ipybox::mcp {
namespace detail {

/// 2025-11-25, "Tools", section "Tool Names".
inline bool is_tool_name(std::string_view name) {
    constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    return !name.empty() && name.size() <= 128 && name.find_first_not_of(allowed) == std::string_view::npos;
}

/// Why a tool cannot be served; nothing where it can.
inline std::optional<std::string> fault_of(server::tool const& tool) {
    auto const& definition = tool.definition;
    if (!is_tool_name(definition.name))
        return "the name of a tool has 1 to 128 letters, digits and '_', '-', '.': not \"" + definition.name + "\"";
    auto const where = "the tool " + definition.name;
    if (!tool.handler) return where + " has no handler";
    auto const type =
        definition.input_schema.is_object() ? definition.input_schema.find("type") : definition.input_schema.end();
    if (type == definition.input_schema.end() || *type != "object")
        return where + ": the input schema has to have the type \"object\"";
    if (!tool.check)
        if (auto const unchecked = ipybox::detail::find_unchecked(definition.input_schema))
            return where + ": " + *unchecked + ". Leave it out, or set `check`.";
    return std::nullopt;
}

/// Owns what it uses: the server may be gone when this begins.
inline asio::awaitable<result<void>> serve_client(std::shared_ptr<server::options const> options,
                                                  std::shared_ptr<server::channel> channel) {
    auto const executor = co_await asio::this_coro::executor;
    auto const core = std::make_shared<server_core>(executor, std::move(options), std::move(channel));
    auto const begin = [&core](ipybox::detail::completion<result<void>> done) { core->begin(std::move(done)); };
    co_return co_await ipybox::detail::await_completion<result<void>>(begin);
}

} // namespace detail

IPYBOX_DECL result<server> server::make(options given) {
    std::set<std::string_view> names;
    for (auto const& each : given.tools) {
        if (auto fault = detail::fault_of(each)) return failure(errc::invalid_argument, std::move(*fault));
        if (!names.insert(each.definition.name).second)
            return failure(errc::invalid_argument, "there are two tools of the name " + each.definition.name);
    }
    return server(std::make_shared<options const>(std::move(given)));
}

IPYBOX_DECL asio::awaitable<result<void>> server::serve(std::shared_ptr<channel> client) const {
    return detail::serve_client(options_, std::move(client));
}

IPYBOX_DECL server::call::call(std::shared_ptr<detail::running_call> running) noexcept : call_(std::move(running)) {}

IPYBOX_DECL std::string const& server::call::tool() const noexcept { return call_->tool->definition.name; }

IPYBOX_DECL nlohmann::ordered_json const& server::call::arguments() const noexcept { return call_->values; }

IPYBOX_DECL raw_json const& server::call::raw_arguments() const noexcept { return call_->arguments; }

IPYBOX_DECL server::client_description const& server::call::client() const noexcept { return *call_->client; }

IPYBOX_DECL bool server::call::cancelled() const noexcept { return call_->cancelled; }

IPYBOX_DECL bool server::call::can_elicit() const noexcept {
    return !call_->cancelled && call_->client->answers_forms();
}

IPYBOX_DECL bool server::call::wants_progress() const noexcept { return call_->reports; }

namespace detail {

IPYBOX_DECL asio::awaitable<call_result> handled(std::shared_ptr<running_call> const& call) {
    return call->tool->handler(std::make_shared<server::call>(call));
}

/// Owns the call, for the handler may let go of it meanwhile.
inline asio::awaitable<result<server::elicitation>> ask_user(std::shared_ptr<running_call> call, std::string message,
                                                             nlohmann::ordered_json schema) {
    auto const core = call->core.lock();
    if (!core) co_return failure(errc::cancelled, "the client is gone");
    using outcome = result<server::elicitation>;
    auto const begin = [&](ipybox::detail::completion<outcome> done) {
        core->ask(call->id, message, schema, std::move(done));
    };
    co_return co_await ipybox::detail::await_completion<outcome>(begin);
}

} // namespace detail

IPYBOX_DECL asio::awaitable<result<server::elicitation>> server::call::elicit(std::string message,
                                                                              nlohmann::ordered_json schema) {
    return detail::ask_user(call_, std::move(message), std::move(schema));
}

IPYBOX_DECL void server::call::progress(double done, std::optional<double> total, std::optional<std::string> message) {
    auto const core = call_->core.lock();
    if (!core) return;
    mcp::call_options::progress const made{done, total, std::move(message)};
    core->report(call_->id, made);
}

} // namespace ipybox::mcp
