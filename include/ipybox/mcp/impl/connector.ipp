#pragma once

#include <ipybox/async/await_completion.hpp>
#include <ipybox/async/post_work.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/mcp/impl/connector.hpp>
#include <ipybox/mcp/impl/guarded.hpp>
#include <ipybox/mcp/offered_channel.hpp>
#include <ipybox/mcp/server_launch.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace ipybox::mcp::detail {

/// How long a server may think about a probe before its silence counts as no.
inline constexpr std::chrono::seconds probe_patience{5};

IPYBOX_DECL asio::awaitable<result<session>> connector::connect() {
    handshake_machine machine(learned_.value_or(params_.versions));
    auto const deadline = clock::now() + clamped(params_.connect_timeout);
    names_ = value_names();
    auto params = put_variables(params_, environment_.variables, environment_.host->environment(), &names_);
    if (!params) co_return failure(params.error());
    params->host = environment_.host;
    names_.add(added_environment_of(*params));
    names_.add(params->headers);
    if (auto allowed = environment_.check_start ? environment_.check_start(*params) : result<void>(); !allowed)
        co_return failure(allowed.error());
    auto opened = co_await open(*params);
    if (!opened) co_return failure(opened);
    for (auto step = machine.begin();;) {
        if (stopping_) co_return failure(errc::not_running, "was stopped");
        if (auto* const why = std::get_if<error>(&step)) co_return failure(std::move(*why));
        if (auto* const agreed = std::get_if<handshake_machine::agreed>(&step)) {
            if (auto well = environment_.check_started ? environment_.check_started(*params) : result<void>(); !well)
                co_return failure(well.error());
            if (agreed->confirm) connection_->notify("notifications/initialized");
            bool const asks_both = params_.versions == server_params::negotiation::initialize_first ||
                                   params_.versions == server_params::negotiation::discover_first;
            if (asks_both)
                learned_ = agreed->with.era == era::stateless ? server_params::negotiation::discover_first
                                                              : server_params::negotiation::initialize_first;
            co_return std::move(agreed->with);
        }
        if (std::holds_alternative<handshake_machine::start_over>(step)) {
            co_await close_connection();
            if (stopping_) co_return failure(errc::not_running, "was stopped");
            opened = co_await open(*params);
            if (!opened) co_return failure(opened);
            step = machine.begin();
            continue;
        }
        step = co_await ask(machine, std::get<handshake_machine::ask>(std::move(step)), deadline);
    }
}

IPYBOX_DECL asio::awaitable<handshake_machine::step>
connector::ask(handshake_machine& machine, handshake_machine::ask question, clock::time_point until) {
    using answer = std::variant<std::string, rpc_error, error>;
    bool const is_probe = question.is_probe;
    auto const deadline = is_probe ? std::min(until, clock::now() + probe_patience) : until;
    auto const begin = [&](ipybox::detail::completion<answer> done) {
        auto take = [done = std::move(done)](rpc_outcome outcome) mutable {
            if (auto* const why = std::get_if<rpc_error>(&outcome)) return done(std::move(*why));
            if (auto* const why = std::get_if<error>(&outcome)) return done(std::move(*why));
            done(std::string(std::get<std::string_view>(outcome)));
        };
        auto const id = connection_->begin({.deadline = deadline, .may_cancel = false}, std::move(take));
        auto params = std::move(question.params);
        params.insert(params.begin(), {"_meta", question.meta});
        connection_->send(id, question.method, params);
    };
    auto said = co_await ipybox::detail::await_completion<answer>(begin);
    if (auto const* const text = std::get_if<std::string>(&said)) co_return machine.on_result(*text);
    if (auto const* const why = std::get_if<rpc_error>(&said)) co_return machine.on_refusal(*why);
    co_return on_error(machine, std::get<error>(std::move(said)), is_probe);
}

IPYBOX_DECL handshake_machine::step connector::on_error(handshake_machine& machine, error why, bool was_probe) const {
    if (why == errc::timed_out) {
        if (was_probe) return machine.on_silence();
        auto text =
            "did not begin to talk within " + std::to_string(params_.connect_timeout.count()) + " ms (connect_timeout)";
        if (auto const said = connection_->diagnostics(); !said.empty()) text.append(it_said).append(said);
        return error(errc::mcp_unresponsive, std::move(text));
    }
    if (why != errc::mcp_server_died) return why;
    return machine.on_end(
        error(errc::mcp_start_failed, "could not be started: it " + why.text()).with_status(why.status()));
}

IPYBOX_DECL result<std::shared_ptr<channel>> connector::channel_to(server_params const& params) const {
    if (!environment_.make_channel) return make_channel(executor_.get(), params);
    result<std::shared_ptr<channel>> made = nullptr;
    try {
        made = environment_.make_channel(executor_.get(), params);
    } catch (...) { return failure(errc::invalid_argument, "cannot be reached: make_channel threw: " + thrown_text()); }
    if (made && !*made) return failure(errc::invalid_argument, "cannot be reached: make_channel returned no channel");
    return made;
}

IPYBOX_DECL asio::awaitable<result<void>> connector::open(server_params const& params) {
    auto made = channel_to(params);
    if (!made) co_return failure(made);
    {
        std::scoped_lock const lock(mutex_);
        if (killed_) co_return failure(errc::not_running, "was stopped");
        channel_ = *made;
    }
    std::function<void()> changed;
    if (environment_.on_tools_changed)
        changed = [executor = executor_.get(), call = environment_.on_tools_changed] {
            ipybox::detail::post_work(executor, [call] { tell(call); });
        };
    connection_ = std::make_shared<connection>(executor_.get(), std::move(*made), std::move(changed));
    co_return co_await connection_->open();
}

IPYBOX_DECL asio::awaitable<void> connector::close() {
    co_await close_connection();
    stopping_ = false;
}

IPYBOX_DECL asio::awaitable<void> connector::close_connection() {
    // Stays in place meanwhile, so that `kill` reaches the server.
    try {
        if (connection_) co_await connection_->close();
    } catch (...) {} // NOLINT(bugprone-empty-catch): it is let go of either way
    connection_.reset();
    std::scoped_lock const lock(mutex_);
    channel_.reset();
}

IPYBOX_DECL void connector::stop(error const& why) {
    stopping_ = true;
    if (connection_) connection_->finish(why);
}

IPYBOX_DECL void connector::kill() {
    std::scoped_lock const lock(mutex_);
    killed_ = true;
    if (channel_) channel_->kill();
}

IPYBOX_DECL void connector::let_go(error const& gone) {
    kill();
    if (auto const open = std::exchange(connection_, nullptr)) open->finish(gone);
    std::scoped_lock const lock(mutex_);
    channel_.reset();
}

} // namespace ipybox::mcp::detail
