#pragma once

#include <ipybox/action/action_answer.hpp>
#include <ipybox/action/action_router.hpp>
#include <ipybox/action/impl/action_subject.hpp>
#include <ipybox/action/impl/program_pipes.hpp>
#include <ipybox/async/aside.hpp>
#include <ipybox/async/emit_cancellation.hpp>
#include <ipybox/async/post_work.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/async/with_timeout.hpp>

#include <asio/this_coro.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <type_traits>
#include <utility>
#include <vector>

namespace ipybox::detail {

/// So many requests of one kernel may wait for their answers.
inline constexpr std::size_t most_actions = 1000;

/// So many bytes of its requests and answers may wait. One that is alone may be larger.
inline constexpr std::size_t most_held = std::size_t(128) << 20;

/// So many programs may be on their way: the host holds their pipes until the kernel is sent them. Others wait.
inline constexpr std::size_t most_starting = 16;

/// The time in which an interrupted program has to end.
inline constexpr std::chrono::milliseconds program_grace{250};

IPYBOX_DECL action_router::action_router(asio::any_io_executor executor, os::unique_fd socket,
                                         std::weak_ptr<action_host> host)
    : executor_(executor), session_executor_(std::make_shared<context_bound_executor const>(executor)),
      channel_(executor, std::move(socket)), host_(std::move(host)),
      start_ended_(executor, asio::steady_timer::time_point::max()) {}

/// Serves until the kernel hangs up, or a request cannot be taken, for want of memory, say: then it is told by the end
/// of the channel.
IPYBOX_DECL void action_router::start() {
    spawn(executor_, serve(shared_from_this()), [self = shared_from_this()](std::exception_ptr) { self->close(); });
}

IPYBOX_DECL void action_router::end_calls() {
    auto const under_way = pending_;
    for (auto const& [id, waiting] : under_way) {
        if (!waiting->ends_with_cell || std::exchange(waiting->outlived_cell, true)) continue;
        emit_cancellation(waiting->cancel);
    }
}

IPYBOX_DECL void action_router::close() {
    channel_.close();
    for (auto const& [id, waiting] : std::exchange(pending_, {})) emit_cancellation(waiting->cancel);
}

IPYBOX_DECL asio::awaitable<void> action_router::serve(std::shared_ptr<action_router> self) {
    for (;;) {
        auto frame = co_await self->channel_.receive();
        if (!frame) break;
        action_request request = malformed_action();
        if (frame->body.size() < long_text)
            request = parse_action(std::move(*frame));
        else
            request = co_await self->parse(std::move(*frame));
        auto const refused = std::visit([&self](auto& wanted) { return self->on(std::move(wanted)); }, request);
        // Nothing else is read until this is written: a flood of what is no request must not become one of answers.
        if (!refused) continue;
        auto const told = co_await self->channel_.send(malformed_answer(*refused));
        if (!told) break;
    }
}

IPYBOX_DECL asio::awaitable<action_request> action_router::parse(action_frame frame) {
    auto const owned = std::make_shared<action_frame>(std::move(frame));
    auto const work = [owned] { return parse_action(std::move(*owned)); };
    co_return co_await aside(aside_, work);
}

/// Lets a request be dealt with beside the others.
template <class Wanted>
action_router::refusal action_router::on(Wanted wanted) {
    auto const id = wanted.id;
    if (pending_.contains(id)) return malformed_action{id, "this id is in use"};
    if (pending_.size() + unsent_ >= most_actions)
        return malformed_action{id, "too many actions wait for their answers"};
    if (held_ > 0 && held_ + wanted.size > most_held)
        return malformed_action{id, "the actions that wait for their answers are too large together"};
    auto const waiting = std::make_shared<pending>();
    waiting->size = wanted.size;
    waiting->ends_with_cell = !std::is_same_v<Wanted, program_run>;
    pending_[id] = waiting;
    held_ += waiting->size;
    auto const finish = [self = shared_from_this(), waiting, id](std::exception_ptr bug, action_frame frame) {
        auto const found = self->pending_.find(id);
        if (found == self->pending_.end() || found->second != waiting) return; // closed meanwhile
        self->pending_.erase(found);
        self->held_ -= waiting->size;
        if (bug) frame = error_answer(id, error(errc::io_error, "the host could not do this"));
        if (waiting->unreported) self->answer(progress_answer(id, *std::exchange(waiting->unreported, std::nullopt)));
        // The kernel would take its length for the end of the channel.
        if (4 + frame.head.size() + frame.body.size() > largest_action_answer)
            frame = error_answer(id, error(errc::message_too_large, "the answer is larger than 256 MiB"));
        self->answer(std::move(frame));
    };
    auto answered = act(shared_from_this(), std::move(wanted));
    spawn(executor_, std::move(answered), finish, waiting->cancel.slot());
    return std::nullopt;
}

IPYBOX_DECL action_router::refusal action_router::on(action_cancel const& wanted) {
    auto const found = pending_.find(wanted.id);
    if (found == pending_.end()) return std::nullopt;
    auto const waiting = found->second;
    if (std::exchange(waiting->cancelled, true)) return std::nullopt;
    if (waiting->program)
        end_program(waiting->program);
    else
        emit_cancellation(waiting->cancel);
    return std::nullopt;
}

IPYBOX_DECL action_router::refusal action_router::on(malformed_action malformed) { return malformed; }

/// Asks whether it may be, has it done, and says how it ended.
template <class Wanted>
asio::awaitable<action_frame> action_router::act(std::shared_ptr<action_router> self, Wanted wanted) {
    co_await asio::this_coro::throw_if_cancelled(false);
    auto const host = self->host_.lock();
    if (!host) co_return error_answer(wanted.id, error(errc::not_running, "the host has ended"));
    if constexpr (!std::is_same_v<Wanted, program_run>) {
        auto const found = co_await host->find_server(wanted.server);
        if (!found) co_return error_answer(wanted.id, found.error());
    }
    auto subject = subject_of(wanted);
    auto const said = co_await host->approve(subject, wanted.after);
    if (!said.accepted()) co_return rejected_answer(wanted.id, said);

    auto const began = std::chrono::steady_clock::now();
    action_outcome how;
    auto const state = co_await asio::this_coro::cancellation_state;
    auto frame = action_frame();
    if (state.cancelled() == asio::cancellation_type::none)
        frame = co_await self->carry_out(*host, subject, wanted, said.made, how);
    else // meanwhile
        frame = self->failed_answer(wanted.id, error(errc::cancelled, "its caller is gone"), how);
    how.duration = std::chrono::steady_clock::now() - began;
    host->ended(subject, how);
    co_return frame;
}

/// A package is not asked about: its tools are when they are called.
IPYBOX_DECL asio::awaitable<action_frame> action_router::act(std::shared_ptr<action_router> self,
                                                             package_request wanted) {
    co_await asio::this_coro::throw_if_cancelled(false);
    auto const host = self->host_.lock();
    if (!host) co_return error_answer(wanted.id, error(errc::not_running, "the host has ended"));
    auto const id = wanted.id;
    auto const states = co_await host->packages(std::move(wanted));
    co_return packages_answer(id, states);
}

IPYBOX_DECL asio::awaitable<action_frame> action_router::carry_out(action_host& host, approval_subject const& subject,
                                                                   tool_call const& wanted, decision const& made,
                                                                   action_outcome& how) {
    auto sent = sent_of(made, wanted.sent);
    if (!sent) co_return failed_answer(wanted.id, sent.error(), how);
    auto options = options_of(wanted);
    auto returned = co_await host.call(subject, std::move(*sent), std::move(options));
    if (!returned) co_return failed_answer(wanted.id, returned.error(), how);
    auto frame = action_frame();
    if (size_of(*returned) < long_text)
        frame = result_answer(wanted.id, std::move(*returned));
    else
        frame = co_await answer_aside(wanted.id, std::move(*returned));
    how.result_size = frame.body.size();
    co_return frame;
}

/// A request to a server that ends with its cell says so.
IPYBOX_DECL action_frame action_router::failed_answer(action_id id, error const& why, action_outcome& how) const {
    how.failure = why.code();
    auto const waiting = pending_.find(id);
    bool const outlived_cell = waiting != pending_.end() && waiting->second->outlived_cell;
    if (!outlived_cell) return error_answer(id, why);
    return error_answer(id, error(errc::cancelled, "the call ended with its cell: wait for it there"));
}

IPYBOX_DECL asio::awaitable<action_frame> action_router::carry_out(action_host& host, approval_subject const& subject,
                                                                   server_inquiry const& wanted, decision const& made,
                                                                   action_outcome& how) {
    auto query = wanted.query;
    if (query.arguments) {
        auto sent = sent_of(made, *query.arguments);
        if (!sent) co_return failed_answer(wanted.id, sent.error(), how);
        query.arguments = std::move(*sent);
    }
    auto answered = co_await host.ask(subject.server, std::move(query));
    if (!answered) co_return failed_answer(wanted.id, answered.error(), how);
    auto frame = json_answer(wanted.id, std::move(*answered));
    how.result_size = frame.body.size();
    co_return frame;
}

/// Progress goes to a kernel that asks for it.
IPYBOX_DECL mcp::call_options action_router::options_of(tool_call const& wanted) {
    mcp::call_options options;
    if (wanted.wants_progress)
        options.on_progress = [weak = weak_from_this(), session = session_executor_,
                               id = wanted.id](mcp::call_options::progress const& reached) {
            auto const report = [weak, id, reached] {
                if (auto const self = weak.lock()) self->report(id, reached);
            };
            // At once where it is called on the same executor: the answer must not be faster.
            session->with([&](asio::any_io_executor const& executor) { dispatch_work(executor, report); });
        };
    return options;
}

/// Sends a report beside everything else. While one is on its way only the latest is kept.
IPYBOX_DECL void action_router::report(action_id id, mcp::call_options::progress reached) {
    auto const found = pending_.find(id);
    if (found == pending_.end()) return;
    auto const waiting = found->second;
    waiting->unreported = std::move(reached);
    if (std::exchange(waiting->is_reporting, true)) return;
    auto const ended = [self = shared_from_this()](std::exception_ptr bug) {
        if (bug) self->close();
    };
    spawn(executor_, send_reports(shared_from_this(), id, waiting), ended);
}

IPYBOX_DECL asio::awaitable<void> action_router::send_reports(std::shared_ptr<action_router> self, action_id id,
                                                              std::shared_ptr<pending> waiting) {
    while (waiting->unreported) {
        auto const found = self->pending_.find(id);
        if (found == self->pending_.end() || found->second != waiting) co_return; // it was answered
        auto frame = progress_answer(id, *std::exchange(waiting->unreported, std::nullopt));
        (void)co_await self->channel_.send(std::move(frame));
    }
    waiting->is_reporting = false;
}

IPYBOX_DECL asio::awaitable<action_frame> action_router::answer_aside(action_id id, mcp::call_result returned) {
    auto const owned = std::make_shared<mcp::call_result>(std::move(returned));
    auto const work = [id, owned] { return result_answer(id, std::move(*owned)); };
    co_return co_await aside(aside_, work);
}

IPYBOX_DECL asio::awaitable<action_frame> action_router::carry_out(action_host& host, approval_subject const& subject,
                                                                   program_run const& wanted, decision const& made,
                                                                   action_outcome& how) {
    auto const fail = [&](error const& why) {
        how.failure = why.code();
        return error_answer(wanted.id, why);
    };
    auto const judged = made.by_commands() ? as_accepted(wanted, subject) : std::nullopt;
    if (made.by_commands() && !judged)
        co_return fail(error(errc::approval_rejected, "its commands were accepted, and are not understood"));
    if (!co_await begin_start()) co_return fail(error(errc::cancelled, "its caller is gone"));
    auto program = result<std::shared_ptr<running_program>>(nullptr);
    {
        start_turn const mine(*this);
        program = co_await start(host, judged ? *judged : wanted);
    }
    if (!program) co_return fail(program.error());
    auto const status = co_await (*program)->exited();
    how.status = status;
    co_return exited_answer(wanted.id, status);
}

/// Starts a program and gives the kernel its pipes.
IPYBOX_DECL asio::awaitable<result<std::shared_ptr<running_program>>> action_router::start(action_host& host,
                                                                                           program_run const& wanted) {
    auto pipes = make_pipes(wanted);
    if (!pipes) co_return failure(pipes);
    auto program = co_await host.run(wanted, std::move(pipes->theirs));
    if (!program) co_return failure(program);

    auto const waiting = pending_.find(wanted.id);
    if (waiting == pending_.end()) co_return failure(errc::cancelled, "its caller is gone");
    waiting->second->program = *program;
    if (waiting->second->cancelled) end_program(*program); // while it was being started
    auto const descriptors = pipes->ours.size();
    (void)co_await channel_.send(started_answer(wanted.id, descriptors), std::move(pipes->ours));
    co_return std::move(*program);
}

/// Waits until another program may be started; false where its request is cancelled. Descriptors that the kernel has
/// not received count as the host's: one that does not read starts no more programs.
IPYBOX_DECL asio::awaitable<bool> action_router::begin_start() {
    auto const state = co_await asio::this_coro::cancellation_state;
    while (starting_ == most_starting) {
        asio::error_code woken;
        co_await start_ended_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
        if (state.cancelled() != asio::cancellation_type::none) {
            start_ended_.cancel_one(); // it may have been this one's turn
            co_return false;
        }
    }
    ++starting_;
    bool const open = co_await channel_.is_read();
    if (open && state.cancelled() == asio::cancellation_type::none) co_return true;
    end_start();
    co_return false;
}

IPYBOX_DECL void action_router::end_start() {
    --starting_;
    start_ended_.cancel_one();
}

/// Ends it beside everything else. One that cannot be killed either ends with the channel, to which all of the kernel's
/// programs belong.
IPYBOX_DECL void action_router::end_program(std::shared_ptr<running_program> const& program) {
    auto const ended = [self = shared_from_this()](std::exception_ptr bug) {
        if (bug) self->close();
    };
    spawn(executor_, stop(program), ended);
}

IPYBOX_DECL asio::awaitable<void> action_router::interrupt(std::shared_ptr<running_program> program) {
    (void)co_await program->signal(SIGINT);
    (void)co_await with_timeout(program->exited(), program_grace);
}

IPYBOX_DECL asio::awaitable<void> action_router::stop(std::shared_ptr<running_program> program) {
    try {
        co_await interrupt(program);
    } catch (...) {
    } // NOLINT(bugprone-empty-catch): a program that cannot be told, for want of memory, say, is killed at once
    (void)co_await program->signal(SIGKILL); // what is left of its group too
}

/// Sends beside everything else: a kernel that does not read holds up only its own answers.
IPYBOX_DECL void action_router::answer(action_frame frame) {
    auto const bytes = frame.head.size() + frame.body.size();
    held_ += bytes;
    ++unsent_;
    auto const send = [](std::shared_ptr<action_router> self, action_frame sent,
                         std::size_t size) -> asio::awaitable<void> {
        (void)co_await self->channel_.send(std::move(sent));
        --self->unsent_;
        self->held_ -= size;
    };
    // A kernel that gets no answer would wait for ever.
    auto const ended = [self = shared_from_this()](std::exception_ptr bug) {
        if (bug) self->close();
    };
    spawn(executor_, send(shared_from_this(), std::move(frame), bytes), ended);
}

} // namespace ipybox::detail
