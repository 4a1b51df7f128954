#pragma once

#include <ipybox/async/suspend.hpp>
#include <ipybox/mcp/impl/server_core.hpp>
#include <ipybox/mcp/server_call.hpp>

#include <utility>

namespace ipybox::mcp {

IPYBOX_DECL server_call::server_call(std::shared_ptr<detail::running_call> call) noexcept : call_(std::move(call)) {}

IPYBOX_DECL std::string const& server_call::tool() const noexcept { return call_->tool->definition.name; }

IPYBOX_DECL nlohmann::ordered_json const& server_call::arguments() const noexcept { return call_->values; }

IPYBOX_DECL raw_json const& server_call::raw_arguments() const noexcept { return call_->arguments; }

IPYBOX_DECL client_description const& server_call::client() const noexcept { return *call_->client; }

IPYBOX_DECL bool server_call::cancelled() const noexcept { return call_->cancelled; }

IPYBOX_DECL bool server_call::can_elicit() const noexcept {
    return !call_->cancelled && call_->client->answers_forms();
}

IPYBOX_DECL bool server_call::wants_progress() const noexcept { return call_->reports; }

namespace detail {

IPYBOX_DECL asio::awaitable<call_result> handled(std::shared_ptr<running_call> const& call) {
    return call->tool->handler(std::make_shared<server_call>(call));
}

/// Owns the call, for the handler may let go of it meanwhile.
inline asio::awaitable<result<elicitation_answer>> ask_user(std::shared_ptr<running_call> call, std::string message,
                                                            nlohmann::ordered_json schema) {
    auto const core = call->core.lock();
    if (!core) co_return failure(errc::cancelled, "the client is gone");
    using outcome = result<elicitation_answer>;
    auto const begin = [&](ipybox::detail::completion<outcome> done) {
        core->ask(call->id, message, schema, std::move(done));
    };
    co_return co_await ipybox::detail::suspend<outcome>(begin);
}

} // namespace detail

IPYBOX_DECL asio::awaitable<result<elicitation_answer>> server_call::elicit(std::string message,
                                                                            nlohmann::ordered_json schema) {
    return detail::ask_user(call_, std::move(message), std::move(schema));
}

IPYBOX_DECL void server_call::progress(double done, std::optional<double> total, std::optional<std::string> message) {
    auto const core = call_->core.lock();
    if (!core) return;
    mcp::progress const made{done, total, std::move(message)};
    core->report(call_->id, made);
}

} // namespace ipybox::mcp
