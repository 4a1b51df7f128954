#pragma once

#include <ipybox/async/aside.hpp>
#include <ipybox/session/execute_request.hpp>
#include <ipybox/session/execution.hpp>
#include <ipybox/session/job_core.hpp>
#include <ipybox/session/running_execution.hpp>
#include <ipybox/session/seen_messages.hpp>
#include <ipybox/session/session_services.hpp>
#include <ipybox/session/session_settings.hpp>

#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <utility>
#include <variant>

namespace ipybox::detail {

inline completion_rule rule_of(kernel_link const& link) {
    return link.facts().orders_messages ? completion_rule::reply : completion_rule::reply_and_idle;
}

inline output_recorder::bounds bounds_of(executor_options const& options) {
    return {options.output.max_memory, options.output.max_files, options.output.max_spill};
}

inline stop_ladder ladder_of(execute_options const& options, executor_options const& settings,
                             time_budget::clock::time_point started) {
    std::optional<time_budget::clock::duration> budget;
    if (options.timeout) budget = clamped(*options.timeout);
    return {time_budget(budget, started, clamped(settings.approval.longest_pause)),
            clamped(settings.kernel.interrupt_grace)};
}

IPYBOX_DECL running_execution::running_execution(std::shared_ptr<run_context> context, execution& e,
                                                 kernel_freshness freshness)
    : context_(std::move(context)), kernel_(*context_->kernel), execution_(e), generation_(kernel_.life().current()),
      started_(clock::now()), request_id_(jupyter::message::new_id()), calls_(context_),
      output_(context_->settings->places(), bounds_of(context_->settings->options()), kernel_.life(), e.events,
              e.chunks, [&kernel = kernel_] { kernel.pause(); }),
      machine_(request_id_, rule_of(*kernel_.link())),
      ladder_(ladder_of(e.options, context_->settings->options(), started_)), freshness_(freshness),
      watched_(context_->executor, kernel_.link()->kernel(), context_->looked_at),
      large_(context_->executor, output_, kernel_.seen(),
             std::shared_ptr<execution_inbox>(context_, &context_->inbox)) {
    if (freshness == kernel_freshness::fresh) context_->looked_at = {};
    if (e.job) e.job->begin(output_.recorder().share_text());
}

IPYBOX_DECL running_execution::~running_execution() {
    context_->open_question = 0;
    kernel_.services()->end_cell();
}

IPYBOX_DECL asio::awaitable<result<execution_result>> running_execution::run() {
    begin();
    auto next = stop_ladder::step::none;
    while (!ended() && next != stop_ladder::step::kill) {
        if (next == stop_ladder::step::interrupt) end_code();
        next = stop_ladder::step::none;
        if (large_.is_pending() && !large_.is_being_saved())
            co_await large_.go_on();
        else
            co_await take_next();
        large_.take_saved();
        // In slices: other handlers run in between, and no timeout waits for a disk.
        while (!large_.is_being_saved() && output_.recorder().write_some() && clock::now() < deadline())
            co_await let_others_run();
        // A kernel that floods its host fills the inbox faster than it is emptied: time is looked at with each item.
        if (clock::now() >= deadline()) next = on_time();
        if (execution_.unwanted && !end_.over && next == stop_ladder::step::none)
            next = ladder_.end(execution_.unwanted->reason, clock::now());
    }
    co_await end_kernel(next);
    if (end_.over && !end_.killed) watched_.code_ended();
    // A kernel that was left while it runs code, or comes to its end, stays busy: it is of no use for another
    // execution, and not asked to end once more.
    bool const is_of_use = end_.over && !end_.over->leaving;
    if (is_of_use || !abandoned()) kernel_.life().finish();
    co_await large_.finish();
    while (output_.recorder().write_some()) co_await let_others_run();
    co_return outcome();
}

IPYBOX_DECL bool running_execution::abandoned() const noexcept {
    return execution_.unwanted && execution_.unwanted->at_once;
}

IPYBOX_DECL bool running_execution::ended() const noexcept {
    return abandoned() || end_.death || end_.unsent || end_.lingers ||
           (end_.over && !calls_.are_under_way() && !end_.over->leaving);
}

IPYBOX_DECL time_budget::clock::time_point running_execution::deadline() const noexcept {
    return end_.over ? leave_by_ : ladder_.deadline();
}

IPYBOX_DECL stop_ladder::step running_execution::on_time() {
    if (!end_.over) return ladder_.on_time(clock::now());
    // The kernel said that it would end, and does not, or reads nothing any more: it could not serve another execution.
    end_.lingers = true;
    return stop_ladder::step::none;
}

IPYBOX_DECL asio::awaitable<void> running_execution::let_others_run() {
    return asio::post(context_->executor, asio::use_awaitable);
}

/// Takes the next event, if one comes in time: first what waited for a display to be saved.
IPYBOX_DECL asio::awaitable<void> running_execution::take_next() {
    std::optional<occurrence::any> item;
    if (!large_.is_being_saved() && !behind_.empty()) {
        item.emplace(std::move(behind_.front()));
        behind_.pop_front();
    } else {
        item = co_await context_->inbox.pop(deadline());
    }
    if (item) take(*item);
    if (takes_turns()) co_await let_others_run();
}

IPYBOX_DECL void running_execution::take(occurrence::any& item) {
    bool const of_kernel =
        std::holds_alternative<jupyter::message>(item) || std::holds_alternative<occurrence::kernel_ended>(item);
    if (large_.is_being_saved() && of_kernel) return behind_.push_back(std::move(item));
    std::visit([this](auto& what) { on(what); }, item);
}

/// Whether so much was dealt with that other handlers are to run.
IPYBOX_DECL bool running_execution::takes_turns() noexcept {
    bool const enough = in_turn_ >= long_text;
    if (enough) in_turn_ = 0;
    return enough;
}

// --- what is asked of the kernel -----------------------------------------------------------------------------------------

IPYBOX_DECL void running_execution::begin() {
    if (!execution_.of_value)
        for (auto& late : context_->late.take()) std::visit([this](auto& step) { follow(std::move(step)); }, late);
    if (execution_.finishes) return ask_to_end();
    begin_cell();
    auto request = to_execute_request(execution_, request_id_);
    if (!execution_.of_value) number(request);
    calls_.send(std::move(request));
}

/// Kernels count cells for their tracebacks. One that has taken the place of another goes on where that was.
IPYBOX_DECL void running_execution::number(jupyter::message& request) {
    auto const counted_before = std::exchange(context_->counted_by, generation_);
    if (++context_->cells > 1 && counted_before != generation_) request.metadata["number"] = context_->cells;
}

/// Later requests of the kernel belong to this execution.
IPYBOX_DECL void running_execution::begin_cell() {
    auto const waiting = [&inbox = context_->inbox](std::size_t count, clock::time_point at) {
        inbox.push(occurrence::approvals_waiting{count, at});
    };
    acting_cell cell{request_id_, execution_.code, execution_.events, waiting, execution_.options.approval.policy()};
    kernel_.services()->begin_cell(std::make_shared<acting_cell const>(std::move(cell)));
}

/// An execution without code: it is over, and waits for the end of the kernel.
IPYBOX_DECL void running_execution::ask_to_end() {
    end_.over.emplace();
    end_.over->leaving = true;
    end_.over->exit_code = 0;
    leave_by_ = clock::now() + context_->settings->end_grace();
    calls_.ask_to_end();
}

/// From now on the kernel is drained, with all that it had sent.
IPYBOX_DECL void running_execution::end_code() {
    output_.recorder().writing().request_stop();
    kernel_.life().interrupt();
    kernel_.resume(); // a kernel that waits for a slow reader could not end its code
    calls_.interrupt();
}

/// Ends a kernel that cannot serve another execution. One that had to be killed, or died of the interrupt, is replaced:
/// the caller asked for an end, not for a dead executor. If that fails, the executor stays dead.
IPYBOX_DECL asio::awaitable<void> running_execution::end_kernel(stop_ladder::step last) {
    end_.killed = last == stop_ladder::step::kill || (end_.death && ladder_.reason());
    if (abandoned()) co_return;
    if (end_.killed) {
        auto const started = co_await kernel_.start();
        if (started) freshness_ = kernel_freshness::fresh;
    } else if (end_.lingers) {
        kernel_.died(generation_, error(errc::kernel_died, lingering_text(end_)));
        co_await kernel_.end();
    }
}

// --- what happens --------------------------------------------------------------------------------------------------------

IPYBOX_DECL void running_execution::on(occurrence::link_called& c) {
    if (!calls_.take(c)) return;
    if (c.answered) answered();
    if (!c.outcome && execution_.finishes) leave_by_ = clock::now(); // nothing was asked: it is killed
    if (!c.outcome && c.outcome.error() == errc::message_too_large) {
        end_.unsent = std::move(c.outcome).error(); // the code, of which the kernel has seen nothing
        return;
    }
    if (!c.outcome && (!end_.over || ladder_.reason())) {
        end_.death = c.outcome.error();
        kernel_.died(generation_, c.outcome.error());
    }
}

/// It ends as the code makes it end; until the interrupt is through, no other execution begins.
IPYBOX_DECL void running_execution::on(occurrence::interrupt_wanted const&) {
    if (!end_.over) calls_.interrupt();
}

/// Time does not count while a decision is waited for.
IPYBOX_DECL void running_execution::on(occurrence::approvals_waiting const& a) {
    if ((a.count > 0) == deciding_) return;
    deciding_ = !deciding_;
    if (deciding_)
        ladder_.budget().pause(a.at);
    else
        ladder_.budget().resume(a.at);
}

IPYBOX_DECL void running_execution::on(occurrence::input_answered& a) {
    if (a.question != context_->open_question) return; // the code waits for it no longer
    if (auto reply = answers_.answer(std::move(a))) calls_.send(std::move(*reply), true);
}

IPYBOX_DECL void running_execution::answered() {
    if (end_.over) answers_.drop_waiting();
    if (auto next = answers_.sent()) calls_.send(std::move(*next), true);
}

IPYBOX_DECL void running_execution::on(jupyter::message& m) {
    auto const number = m.number;
    if (execution_.of_value && is_output(m)) { // of threads and tasks
        context_->late.keep(std::move(m));
        return kernel_.seen().saw(number);
    }
    auto in_hand = m.in_hand;
    in_turn_ += m.size + sizeof(m);
    std::visit([this](auto&& step) { follow(std::forward<decltype(step)>(step)); }, machine_.step(std::move(m)));
    if (!large_.is_pending()) return kernel_.seen().saw(number);
    large_.belongs_to(number, std::move(in_hand));
}

// --- the meaning of a message --------------------------------------------------------------------------------------------

IPYBOX_DECL void running_execution::follow(output_chunk chunk) {
    if (chunk.text.size() < long_text) return output_.write(std::move(chunk));
    large_.begin(std::move(chunk));
}

IPYBOX_DECL void running_execution::follow(display shown) {
    if (shown.data.size() < long_text) return output_.show(std::move(shown));
    large_.begin(std::move(shown));
}

IPYBOX_DECL void running_execution::follow(input_wanted wanted) {
    auto const question = context_->open_question = ++context_->questions;
    auto const on_executor = [post = context_->post, weak = std::weak_ptr<run_context>(context_)](auto work) {
        post([weak, work = std::move(work)] {
            if (auto const context = weak.lock()) work(*context);
        });
    };
    auto const answer = [on_executor, question,
                         header = std::move(wanted.request_header)](std::unique_ptr<std::string> line) {
        auto event =
            std::make_shared<occurrence::input_answered>(occurrence::input_answered{question, std::move(line), header});
        on_executor([event](run_context& context) { context.inbox.push(std::move(*event)); });
    };
    input_request const request(std::move(wanted.prompt), wanted.password, answer);
    if (!execution_.options.on_input) return; // the request is dropped, which refuses it
    auto const ask = [handler = execution_.options.on_input, request] {
        try {
            handler(request);
        } catch (...) { // an application's exception must not tear the session down
            request.refuse();
        }
    };
    if (!execution_.events) return ask();
    // A reader of a stream gets the question behind all that was printed before.
    execution_.events->when_read([on_executor, question, ask] {
        on_executor([question, ask](run_context& context) {
            if (context.open_question == question) ask();
        });
    });
}

IPYBOX_DECL void running_execution::follow(execution_over over) {
    if (!over.pager_text.empty()) output_.write({output_chunk::stream_name::stdout_, over.pager_text});
    end_.over = std::move(over);
    // The execution is over when the kernel is gone: what is asked of it afterwards finds a dead one, not a leaving
    // one.
    if (end_.over->leaving) leave_by_ = clock::now() + context_->settings->end_grace();
    // One that replied, and does not read what was sent before, would keep its execution for ever.
    if (!end_.over->leaving && calls_.are_under_way()) leave_by_ = clock::now() + std::chrono::seconds(5);
}

// --- the end -------------------------------------------------------------------------------------------------------------

IPYBOX_DECL result<execution_result> running_execution::outcome() {
    end_.stopped = ladder_.reason();
    end_.output_failure = output_.recorder().failure();
    end_.end_grace = context_->settings->options().kernel.end_grace;
    if (auto const* const death = kernel_.life().death()) end_.not_replaced = death->text();
    auto output = output_.recorder().finish();
    output.elapsed = clock::now() - started_;
    output.kernel_restarted = freshness_ == kernel_freshness::fresh;
    return outcome_of(std::move(end_), execution_, std::move(output));
}

} // namespace ipybox::detail
