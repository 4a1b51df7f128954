#pragma once

#include <ipybox/async/await_completion.hpp>
#include <ipybox/async/post_work.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/async/wait_handler.hpp>
#include <ipybox/mcp/impl/client_core.hpp>
#include <ipybox/mcp/impl/guarded.hpp>
#include <ipybox/mcp/server_launch.hpp>
#include <ipybox/mcp/stdio_channel.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::mcp::detail {

/// How long a server may think about a probe before its silence counts as no.
inline constexpr std::chrono::seconds probe_patience{5};

/// How long the answer to a cancellation is remembered to be on its way.
inline constexpr std::chrono::seconds answer_to_cancel{10};

IPYBOX_DECL error error_of(std::string const& server, error const& what) {
    auto const code = static_cast<errc>(what.code().value());
    return error(code, "the MCP server '" + server + "' " + what.text()).with_status(what.status());
}

IPYBOX_DECL std::shared_ptr<client_core> client_core::make(asio::any_io_executor executor, std::string name,
                                                           server_params params, client_environment surroundings) {
    auto const made =
        std::make_shared<client_core>(std::move(executor), std::move(name), std::move(params), std::move(surroundings));
    made->executor_.on_end([weak = std::weak_ptr(made)] {
        if (auto const self = weak.lock()) self->context_ends();
    });
    return made;
}

IPYBOX_DECL client_core::client_core(asio::any_io_executor executor, std::string name, server_params params,
                                     client_environment surroundings)
    : executor_(std::move(executor)), name_(std::move(name)), params_(std::move(params)),
      surroundings_(std::move(surroundings)) {}

// --- requests ---------------------------------------------------------------------------------------------------------

/// A call that the system does not let be made, for want of memory, say, has an outcome like every other.
IPYBOX_DECL void client_core::submit(std::shared_ptr<exchange> e) {
    try {
        accept(e);
    } catch (...) {
        std::erase(waiting_, e);
        e->fail(error(errc::io_error, "cannot be asked: " + thrown_text()));
    }
}

IPYBOX_DECL void client_core::accept(std::shared_ptr<exchange> const& e) {
    if (retired_) return e->fail(error(errc::not_running, "is no longer registered"));
    // One that has ended, or been told to, is not asked any more, though `serve` may not have come to it yet.
    if (session_ && !connection_->has_ended()) return ask(e);
    if (e->deadline != exchange::clock::time_point::max()) {
        e->patience = std::make_unique<asio::steady_timer>(executor_.get(), e->deadline);
        e->patience->async_wait(ipybox::detail::wait_handler(
            [self = shared_from_this(), which = std::weak_ptr<exchange>(e)](asio::error_code ended) {
                auto const late = which.lock();
                if (ended || !late || std::erase(self->waiting_, late) == 0) return;
                late->fail(error(errc::timed_out,
                                 "was not ready within " + std::to_string(late->options.timeout->count()) + " ms"));
            }));
    }
    waiting_.push_back(e);
    ensure_served();
}

IPYBOX_DECL void client_core::ensure_served() {
    if (std::exchange(serving_, true)) return;
    try {
        ipybox::detail::spawn(executor_.get(), serve(shared_from_this()));
    } catch (...) {
        serving_ = false;
        throw;
    }
}

IPYBOX_DECL void client_core::ask(std::shared_ptr<exchange> const& e) {
    e->patience.reset();
    try {
        begin_request(e);
    } catch (...) {
        error why(errc::io_error, "cannot be asked: " + thrown_text());
        if (e->sent) connection_->abandon(*std::exchange(e->sent, std::nullopt), "it was not sent");
        e->fail(std::move(why));
    }
}

/// One that is not sent yet has its deadline, and its outcome when the server ends, as every other.
IPYBOX_DECL void client_core::begin_request(std::shared_ptr<exchange> const& e) {
    // Weak: the connection is ours. While it lives, so does `serve`, and we with it.
    auto const take = [weak = weak_from_this(), e](rpc_outcome outcome) {
        if (auto const self = weak.lock()) self->on_outcome(e, std::move(outcome));
    };
    e->speak(*session_);
    e->sent = connection_->begin({e->deadline, true, e->options.on_progress, e->reader()}, take);
    auto const pause = e->pause();
    if (pause.count() == 0) return send_request(e);
    e->patience = std::make_unique<asio::steady_timer>(executor_.get(), pause);
    e->patience->async_wait(ipybox::detail::wait_handler(
        [weak = weak_from_this(), which = std::weak_ptr(e), id = e->sent](asio::error_code ended) {
            auto const self = weak.lock();
            auto const waiting = which.lock();
            if (!ended && self && waiting && waiting->sent == id) self->send_request(waiting);
        }));
}

IPYBOX_DECL void client_core::send_request(std::shared_ptr<exchange> const& e) {
    auto const id = *e->sent;
    auto const meta = request_meta(*session_, e->options.on_progress ? std::optional(id) : std::nullopt);
    auto params = e->params();
    params.insert(params.begin(), {"_meta", meta});
    connection_->send(id, e->method(), params, e);
}

IPYBOX_DECL void client_core::on_outcome(std::shared_ptr<exchange> const& e, rpc_outcome outcome) {
    e->sent.reset();
    try {
        conclude(e, std::move(outcome));
    } catch (...) { e->fail(error(errc::io_error, "answered what cannot be taken: " + thrown_text())); }
    if (!e->sent) cancel_task(*e);
}

/// Tells the server that the task of a request that has ended is not wanted any more, if there is one.
IPYBOX_DECL void client_core::cancel_task(exchange const& e) {
    auto const task = e.task();
    if (task.empty() || !session_ || !connection_ || connection_->has_ended()) return;
    auto const deadline = exchange::clock::now() + answer_to_cancel;
    auto const id = connection_->begin({.deadline = deadline, .may_cancel = false}, [](rpc_outcome const&) {});
    auto const meta = request_meta(*session_);
    connection_->send(id, "tasks/cancel", {{"_meta", meta}, {"taskId", task}});
}

IPYBOX_DECL void client_core::conclude(std::shared_ptr<exchange> const& e, rpc_outcome outcome) {
    if (auto const* const why = std::get_if<error>(&outcome)) return e->fail(names_.in_public(*why));
    if (auto const* const why = std::get_if<rpc_error>(&outcome))
        return e->refuse(error(errc::mcp_refused, "refused `" + std::string(e->method()) + "`: " + to_string(*why)),
                         why->code);
    auto const* const read = std::get_if<read_result>(&outcome);
    bool const done = read ? e->take_read(read->value) : e->take(std::get<std::string_view>(outcome));
    if (!done) ask(e);
}

IPYBOX_DECL void client_core::cancel(std::shared_ptr<exchange> const& e) {
    std::erase(waiting_, e);
    e->patience.reset();
    if (e->sent && connection_) {
        connection_->abandon(*std::exchange(e->sent, std::nullopt), "the call was cancelled");
        cancel_task(*e);
    }
    e->fail(error(errc::cancelled, "was not waited for: the call was cancelled"));
}

IPYBOX_DECL void client_core::end_waiting(error const& why) {
    for (auto const& e : std::exchange(waiting_, {})) {
        e->patience.reset();
        e->fail(why);
    }
}

// --- the lives of the server ------------------------------------------------------------------------------------------

IPYBOX_DECL asio::awaitable<void> client_core::serve(std::shared_ptr<client_core> self) {
    while (!self->waiting_.empty()) {
        try {
            co_await self->live();
        } catch (...) { // of the system, for want of memory say: each call has an outcome all the same
            self->end_waiting(error(errc::io_error, "cannot be started: " + thrown_text()));
        }
        self->session_.reset();
        co_await self->close_connection();
        self->stopping_ = false;
        for (auto& done : std::exchange(self->stop_waiters_, {})) done(true);
    }
    self->serving_ = false;
}

/// One life of the server, up to its end or to why there is none.
IPYBOX_DECL asio::awaitable<void> client_core::live() {
    auto agreed = co_await connect();
    if (stopping_) co_return; // who came after the stop waits for the next life
    if (!agreed) {
        end_waiting(names_.in_public(agreed.error()));
        co_return;
    }
    begin_session(std::move(*agreed));
    (void)co_await connection_->finished();
}

IPYBOX_DECL void client_core::begin_session(session s) {
    session_ = std::move(s);
    listed_->instruct(session_->instructions.value_or(""));
    auto const wants_changes = surroundings_.on_tools_changed && session_->announces_tool_changes;
    if (wants_changes && session_->era == era::stateless) {
        // 2026-07-28, "Subscriptions". It is never answered, except to say that it is over.
        auto const id = connection_->begin({.may_cancel = false}, [](rpc_outcome const&) {});
        auto const meta = request_meta(*session_);
        connection_->send(id, "subscriptions/listen",
                          {{"_meta", meta}, {"notifications", R"({"toolsListChanged":true})"}});
    }
    for (auto const& e : std::exchange(waiting_, {})) ask(e);
}

IPYBOX_DECL asio::awaitable<result<session>> client_core::connect() {
    auto const deadline = exchange::clock::now() + clamped(params_.connect_timeout);
    names_ = value_names();
    auto params = put_variables(params_, surroundings_.variables, surroundings_.host->environment(), &names_);
    if (!params) co_return failure(params.error());
    params->host = surroundings_.host;
    names_.add(added_environment_of(*params));
    if (auto allowed = surroundings_.check_start ? surroundings_.check_start(*params) : result<void>(); !allowed)
        co_return failure(allowed.error());
    handshake_machine machine(learned_.value_or(params_.versions));
    auto opened = co_await open_connection(*params);
    if (!opened) co_return failure(opened);
    for (auto step = machine.begin();;) {
        if (stopping_) co_return failure(errc::not_running, "was stopped");
        if (auto* const why = std::get_if<error>(&step)) co_return failure(std::move(*why));
        if (auto* const agreed = std::get_if<handshake_machine::agreed>(&step)) {
            if (auto well = surroundings_.check_started ? surroundings_.check_started(*params) : result<void>(); !well)
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
            opened = co_await open_connection(*params);
            if (!opened) co_return failure(opened);
            step = machine.begin();
            continue;
        }
        auto question = std::get<handshake_machine::ask>(std::move(step));
        bool const is_probe = question.is_probe;
        auto const until = is_probe ? std::min(deadline, exchange::clock::now() + probe_patience) : deadline;
        auto said = co_await answer_to(std::move(question), until);
        step = next_step(machine, std::move(said), is_probe);
    }
}

IPYBOX_DECL handshake_machine::step client_core::next_step(handshake_machine& machine, answer a, bool was_probe) const {
    if (auto const* const text = std::get_if<std::string>(&a)) return machine.on_result(*text);
    if (auto const* const why = std::get_if<rpc_error>(&a)) return machine.on_refusal(*why);
    auto& why = std::get<error>(a);
    if (why == errc::timed_out) {
        if (was_probe) return machine.on_silence();
        auto text =
            "did not begin to talk within " + std::to_string(params_.connect_timeout.count()) + " ms (connect_timeout)";
        if (auto const said = connection_->diagnostics(); !said.empty()) text.append(it_said).append(said);
        return error(errc::mcp_unresponsive, std::move(text));
    }
    if (why != errc::mcp_server_died) return std::move(why);
    return machine.on_end(
        error(errc::mcp_start_failed, "could not be started: it " + why.text()).with_status(why.status()));
}

IPYBOX_DECL asio::awaitable<client_core::answer> client_core::answer_to(handshake_machine::ask question,
                                                                        exchange::clock::time_point deadline) {
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
    co_return co_await ipybox::detail::await_completion<answer>(begin);
}

IPYBOX_DECL result<std::shared_ptr<channel>> client_core::channel_to(server_params const& params) const {
    if (!surroundings_.make_channel) return make_channel(executor_.get(), params);
    result<std::shared_ptr<channel>> made = nullptr;
    try {
        made = surroundings_.make_channel(executor_.get(), params);
    } catch (...) { return failure(errc::invalid_argument, "cannot be reached: make_channel threw: " + thrown_text()); }
    if (made && !*made) return failure(errc::invalid_argument, "cannot be reached: make_channel returned no channel");
    return made;
}

IPYBOX_DECL asio::awaitable<result<void>> client_core::open_connection(server_params const& params) {
    auto made = channel_to(params);
    if (!made) co_return failure(made);
    {
        std::scoped_lock const lock(channel_mutex_);
        if (killed_) co_return failure(errc::not_running, "was stopped");
        channel_ = *made;
    }
    std::function<void()> changed;
    if (surroundings_.on_tools_changed)
        changed = [executor = executor_.get(), call = surroundings_.on_tools_changed] {
            ipybox::detail::post_work(executor, [call] { tell(call); });
        };
    connection_ = std::make_shared<connection>(executor_.get(), std::move(*made), std::move(changed));
    co_return co_await connection_->open();
}

IPYBOX_DECL asio::awaitable<void> client_core::close_connection() {
    // Stays in place meanwhile, so that `kill` reaches the server.
    try {
        if (connection_) co_await connection_->close();
    } catch (...) {} // NOLINT(bugprone-empty-catch): it is let go of either way
    connection_.reset();
    std::scoped_lock const lock(channel_mutex_);
    channel_.reset();
}

// --- the end ----------------------------------------------------------------------------------------------------------

IPYBOX_DECL void client_core::end_all() {
    error const stopped(errc::not_running, "was stopped");
    end_waiting(stopped);
    if (!serving_) return;
    stopping_ = true;
    if (connection_) connection_->finish(stopped);
}

IPYBOX_DECL void client_core::stop(asio::any_io_executor const& current, ipybox::detail::completion<bool> done) {
    // Shared, so that it is still there where the context has gone.
    auto const waiter = std::make_shared<ipybox::detail::completion<bool>>(std::move(done));
    auto const end = [self = shared_from_this(), waiter] {
        self->end_all();
        if (!self->serving_) return (*waiter)(true);
        self->stop_waiters_.push_back(std::move(*waiter));
    };
    if (!executor_.dispatch(current, end)) (*waiter)(true);
}

IPYBOX_DECL void client_core::retire() {
    retired_ = true;
    executor_.post([self = shared_from_this()] { self->end_all(); });
}

IPYBOX_DECL void client_core::describe(ipybox::detail::completion<std::optional<session>> done) {
    auto const asker = std::make_shared<ipybox::detail::completion<std::optional<session>>>(std::move(done));
    if (!executor_.post([self = shared_from_this(), asker] { (*asker)(self->session_); })) (*asker)(std::nullopt);
}

IPYBOX_DECL void client_core::kill() {
    {
        std::scoped_lock const lock(channel_mutex_);
        killed_ = true;
        if (channel_) channel_->kill();
    }
    executor_.post([self = shared_from_this()] { self->end_all(); });
}

/// The I/O context is being destroyed: what belongs to it goes now, and every call has an outcome.
IPYBOX_DECL void client_core::context_ends() noexcept {
    std::shared_ptr<channel> running;
    {
        std::scoped_lock const lock(channel_mutex_);
        killed_ = true;
        running = std::exchange(channel_, nullptr);
    }
    if (running) running->kill();
    auto const gone = context_destroyed();
    end_waiting(gone);
    if (auto const open = std::exchange(connection_, nullptr)) open->finish(gone);
    session_.reset();
    for (auto& done : std::exchange(stop_waiters_, {})) done(true);
}

} // namespace ipybox::mcp::detail
