#pragma once

#include <ipybox/async/emit_cancellation.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/async/wait_handler.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/mcp/impl/guarded.hpp>
#include <ipybox/mcp/impl/server_core.hpp>

#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include <utility>
#include <variant>

namespace ipybox::mcp::detail {

IPYBOX_DECL server_core::server_core(asio::any_io_executor executor, std::shared_ptr<server::options const> options,
                                     std::shared_ptr<server::channel> channel)
    : executor_(std::move(executor)), options_(std::move(options)), channel_(std::move(channel)),
      machine_(*options_, clock::now()), timer_(executor_), all_ended_(executor_) {}

// --- the connection
// ---------------------------------------------------------------------------------------------------

IPYBOX_DECL void server_core::begin(ipybox::detail::completion<result<void>> done) {
    if (auto slot = done.slot(); slot.is_connected())
        slot.assign([weak = std::weak_ptr(channel_)](asio::cancellation_type) {
            if (auto const channel = weak.lock()) channel->close();
        });
    auto finish = [done = std::move(done)](std::exception_ptr bug, result<void> outcome) mutable {
        done.slot().clear();
        done(bug ? failure(errc::io_error, "the connection to the client failed") : std::move(outcome));
    };
    ipybox::detail::spawn(executor_, serve(shared_from_this()), std::move(finish));
}

IPYBOX_DECL asio::awaitable<result<void>> server_core::serve(std::shared_ptr<server_core> self) {
    result<void> outcome;
    try {
        outcome = co_await self->read();
    } catch (...) { outcome = failure(errc::io_error, "the channel to the client failed: " + thrown_text()); }
    co_await self->end();
    co_return outcome;
}

IPYBOX_DECL asio::awaitable<result<void>> server_core::read() {
    auto const& limits = options_->limits;
    for (;;) {
        if (channel_->unread() > limits.unread_output) {
            auto const drained = co_await channel_->drained(limits.unread_output, limits.stalled_output);
            if (!drained) co_return failure(errc::io_error, "the client does not read what is sent to it");
        }
        auto const line = co_await channel_->receive();
        if (line && !*line) co_return result<void>();
        if (!line && line.error() != errc::message_too_large) co_return failure(line.error());
        carry_out(meaning_of(line));
    }
}

IPYBOX_DECL server_machine::actions server_core::meaning_of(result<std::optional<std::string_view>> const& line) {
    try {
        return line ? machine_.on_line(**line, clock::now())
                    : machine_.on_long_line(clock::now(), channel_->dropped_id());
    } catch (...) { // of the system, for want of memory
        server_machine::actions actions;
        actions.emplace_back(server_actions::send{write_rpc_error("null", rpc_internal_error, thrown_text())});
        return actions;
    }
}

/// Ends all calls, waits for their handlers and for the client to take what it has not read, each within a bound.
IPYBOX_DECL asio::awaitable<void> server_core::end() {
    auto const grace = options_->limits.end_grace;
    co_await asio::post(executor_, asio::use_awaitable); // handlers that need no time still answer
    carry_out(machine_.on_end(clock::now()));
    all_ended_.expires_after(clamped(grace));
    asio::error_code ended;
    while (!calls_.empty() && clock::now() < all_ended_.expiry())
        co_await all_ended_.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    try {
        (void)co_await channel_->drained(0, grace);
    } catch (...) {} // NOLINT(bugprone-empty-catch): it is let go of either way
    channel_->close();
    timer_.cancel();
}

// --- what is to be done
// -----------------------------------------------------------------------------------------------

/// Handlers that are cancelled may end or ask meanwhile: what is to be done because of that comes behind the rest.
IPYBOX_DECL void server_core::carry_out(server_machine::actions actions) {
    for (auto& action : actions) actions_.push_back(std::move(action));
    if (std::exchange(carries_out_, true)) return;
    while (!actions_.empty()) {
        auto next = std::move(actions_.front());
        actions_.pop_front();
        try {
            carry_out(next);
        } catch (...) { // of the system, for want of memory: a call has an answer all the same
            if (auto const* const begun = std::get_if<server_actions::start>(&next)) fail_to_start(begun->call);
        }
    }
    carries_out_ = false;
    watch_time();
}

IPYBOX_DECL void server_core::carry_out(server_action& action) {
    if (auto* const send = std::get_if<server_actions::send>(&action)) channel_->send(std::move(send->line));
    if (auto const* const begin = std::get_if<server_actions::start>(&action)) start(*begin);
    if (auto const* const end = std::get_if<server_actions::cancel>(&action)) cancel(end->call);
    if (auto* const given = std::get_if<server_actions::answered>(&action))
        answer_question(given->question, std::move(given->answer));
    if (auto const* const said = std::get_if<server_actions::introduced>(&action); said && options_->on_client)
        tell(options_->on_client, *said->client);
}

IPYBOX_DECL void server_core::start(server_actions::start const& what) {
    auto const call = std::make_shared<running_call>(weak_from_this(), options_, what);
    calls_.emplace(call->id, call);
    ipybox::detail::spawn(executor_, run(shared_from_this(), call), {}, call->signal.slot());
}

IPYBOX_DECL void server_core::fail_to_start(server_call_id id) {
    calls_.erase(id);
    call_result failed;
    failed.is_error = true;
    failed.content.emplace_back(content::text{"the call cannot be started: " + thrown_text()});
    for (auto& action : machine_.on_result(id, std::move(failed), clock::now())) actions_.push_back(std::move(action));
}

/// An exception of a handler becomes the error of its tool.
IPYBOX_DECL asio::awaitable<void> server_core::run(std::shared_ptr<server_core> self,
                                                   std::shared_ptr<running_call> call) {
    call_result result;
    try {
        co_await asio::post(self->executor_, asio::use_awaitable); // behind what is being carried out
        result = co_await handled(call);
    } catch (...) {
        result.is_error = true;
        result.content.assign({content::text{thrown_text()}});
    }
    self->on_end_of(call->id, std::move(result));
}

IPYBOX_DECL void server_core::on_end_of(server_call_id id, call_result result) {
    calls_.erase(id);
    carry_out(machine_.on_result(id, std::move(result), clock::now()));
    if (calls_.empty()) all_ended_.cancel();
}

IPYBOX_DECL void server_core::cancel(server_call_id id) {
    auto const found = calls_.find(id);
    if (found == calls_.end()) return;
    auto const call = found->second; // it may end meanwhile
    call->cancelled = true;
    ipybox::detail::emit_cancellation(call->signal, asio::cancellation_type::all);
}

// --- what handlers want
// -----------------------------------------------------------------------------------------------

IPYBOX_DECL void server_core::ask(server_call_id call, std::string_view message, nlohmann::ordered_json const& schema,
                                  ipybox::detail::completion<answer> done) {
    auto [question, actions] = machine_.ask(call, message, schema, clock::now());
    if (auto slot = done.slot(); slot.is_connected())
        slot.assign([weak = weak_from_this(), which = question](asio::cancellation_type) {
            if (auto const self = weak.lock()) self->withdraw(which);
        });
    asked_.emplace(question, std::move(done));
    carry_out(std::move(actions));
}

IPYBOX_DECL void server_core::answer_question(server_question_id question, answer given) {
    auto const found = asked_.find(question);
    if (found == asked_.end()) return;
    auto done = std::move(found->second);
    asked_.erase(found);
    done.slot().clear();
    done(std::move(given));
}

IPYBOX_DECL void server_core::withdraw(server_question_id question) {
    carry_out(machine_.withdraw(question, clock::now()));
    answer_question(question, failure(errc::cancelled, "the question was withdrawn"));
}

/// A client that does not read what it asked for gets less of it.
IPYBOX_DECL void server_core::report(server_call_id call, call_options::progress const& made) {
    if (channel_->unread() <= options_->limits.unread_output) carry_out(machine_.report(call, made, clock::now()));
}

IPYBOX_DECL void server_core::watch_time() {
    auto const next = machine_.deadline();
    if (next == watched_) return;
    watched_ = next;
    timer_.cancel();
    if (next == clock::time_point::max()) return;
    timer_.expires_at(next);
    timer_.async_wait(ipybox::detail::wait_handler([weak = weak_from_this()](asio::error_code cancelled) {
        auto const self = weak.lock();
        if (!self || cancelled) return;
        self->watched_ = clock::time_point::max();
        self->carry_out(self->machine_.on_time(clock::now()));
    }));
}

} // namespace ipybox::mcp::detail
