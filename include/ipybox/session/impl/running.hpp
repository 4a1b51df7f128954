#pragma once

#include <ipybox/async/aside.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/session/execute_machine.hpp>
#include <ipybox/session/kernel_actions.hpp>
#include <ipybox/session/output_recorder.hpp>
#include <ipybox/session/seen_messages.hpp>
#include <ipybox/session/session.hpp>
#include <ipybox/session/session_settings.hpp>
#include <ipybox/session/stop_ladder.hpp>
#include <ipybox/session/watched_run.hpp>

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace ipybox::detail {

/// One execution while the kernel has it: tells the machines what happens and does what they say.
class session::running {
  public:
    running(session& owner, execution& e, kernel_freshness freshness)
        : session_(owner), execution_(e), serial_(++owner.serial_), generation_(owner.kernel_->life().current()),
          started_(clock::now()), recorder_(owner.settings_->places(), bounds_of(owner.settings_->options())),
          machine_(request_id_, owner.kernel_->link()->completes_with()),
          ladder_(time_budget(budget_of(e.options), started_, countable(owner.settings_->options().longest_pause)),
                  countable(owner.settings_->options().interrupt_grace)),
          freshness_(freshness), watched_(owner.executor_, owner.kernel_->link()->kernel(), owner.looked_at_) {
        if (freshness == kernel_freshness::fresh) owner.looked_at_ = {};
    }

    ~running() { session_.kernel_->actions().end_cell(); }
    running(running const&) = delete;
    running& operator=(running const&) = delete;

    asio::awaitable<result<execution_result>> run() {
        begin();
        auto next = stop_ladder::step::none;
        while (!ended() && next != stop_ladder::step::kill) {
            if (next == stop_ladder::step::interrupt) end_code();
            next = stop_ladder::step::none;
            if (unshown_ && !saving_) {
                co_await show_some();
            } else {
                auto item = co_await next_item();
                if (item) take(*item);
                if (takes_turns()) co_await let_others_run();
            }
            if (is_saved()) show_saved();
            // In slices: other handlers run in between, and no timeout waits for a disk.
            while (!saving_ && recorder_.write_some() && clock::now() < deadline()) co_await let_others_run();
            // A kernel that floods its host fills the inbox faster than it is emptied: time is looked at with each item.
            if (clock::now() >= deadline()) next = on_time();
            if (execution_.unwanted && !over_ && next == stop_ladder::step::none)
                next = ladder_.end(execution_.unwanted->reason, clock::now());
        }
        // A kernel that had to be killed, or died of the interrupt, is replaced: the caller asked for an end, not for a dead executor.
        killed_ = next == stop_ladder::step::kill || (death_ && ladder_.reason());
        if (killed_ && !abandoned() && co_await replace_kernel()) freshness_ = kernel_freshness::fresh;
        if (lingers_ && !killed_ && !abandoned()) co_await kill_lingering_kernel();
        if (over_ && !killed_) watched_.code_ended();
        // A kernel that was left while it runs code stays busy: it is of no use for another execution.
        if (over_ || !abandoned()) session_.kernel_->life().finish();
        while (unshown_) co_await show_rest();
        while (recorder_.write_some()) co_await let_others_run();
        co_return outcome();
    }

  private:
    using clock = time_budget::clock;

    static std::optional<clock::duration> budget_of(execute_options const& options) {
        if (!options.timeout) return std::nullopt;
        return countable(*options.timeout);
    }

    static output_recorder::bounds bounds_of(executor_options const& options) {
        return {options.max_output, options.max_files, options.max_spill};
    }

    [[nodiscard]] bool abandoned() const noexcept { return execution_.unwanted && execution_.unwanted->at_once; }
    [[nodiscard]] bool ended() const noexcept {
        return abandoned() || death_ || unsent_ || lingers_ || (over_ && calls_ == 0 && !over_->leaving);
    }

    stop_ladder::step on_time() {
        if (!over_) return ladder_.on_time(clock::now());
        give_up_leaving();
        return stop_ladder::step::none;
    }

    [[nodiscard]] clock::time_point deadline() const noexcept { return over_ ? leave_by_ : ladder_.deadline(); }

    /// What has happened: first what waited for a display to be saved.
    asio::awaitable<std::optional<occurrence::any>> next_item() {
        if (!saving_ && !behind_.empty()) {
            std::optional<occurrence::any> first(std::move(behind_.front()));
            behind_.pop_front();
            co_return first;
        }
        co_return co_await session_.inbox_.pop(deadline());
    }

    void take(occurrence::any& item) {
        bool const of_kernel =
            std::holds_alternative<jupyter::message>(item) || std::holds_alternative<occurrence::kernel_ended>(item);
        if (saving_ && of_kernel) return behind_.push_back(std::move(item));
        std::visit([this](auto& what) { on(what); }, item);
    }

    asio::awaitable<void> let_others_run() { return asio::post(session_.executor_, asio::use_awaitable); }

    /// Puts a fresh kernel in place of one that does not end its code; where that fails, the executor is left with a dead one.
    asio::awaitable<bool> replace_kernel() {
        auto const started = co_await session_.kernel_->start();
        co_return started.has_value();
    }

    asio::awaitable<void> kill_lingering_kernel() {
        session_.kernel_->died(generation_, error(errc::kernel_died, lingering_text()));
        co_await session_.kernel_->end();
    }

    void begin() {
        for (auto& late : session_.late_.take()) std::visit([this](auto& step) { follow(std::move(step)); }, late);
        if (execution_.finishes) return ask_to_end();
        auto const waiting = [&inbox = session_.inbox_](std::size_t count) {
            inbox.push(occurrence::approvals_waiting{count});
        };
        session_.kernel_->actions().begin_cell({request_id_, execution_.code, execution_.events, waiting});
        jupyter::message request(jupyter::channel::shell, "execute_request",
                                 {{"code", std::move(execution_.code)},
                                  {"silent", false},
                                  {"store_history", false},
                                  {"user_expressions", jupyter::json::object()},
                                  {"allow_stdin", static_cast<bool>(execution_.options.on_input)},
                                  {"stop_on_error", false}});
        request.id = request_id_;
        if (auto& title = execution_.options.title) request.metadata = {{"title", std::move(*title)}};
        send(std::move(request));
    }

    /// An execution without code: it is over, and waits for the end of the kernel.
    void ask_to_end() {
        over_.emplace();
        over_->leaving = true;
        over_->exit_code = 0;
        leave_by_ = clock::now() + session_.settings_->end_grace();
        call_link([](std::shared_ptr<kernel_link> link) { return kernel_manager::ask_to_end(std::move(link)); });
    }

    // Calls of the link go on beside the loop, so that no kernel that does not read can hold up a timeout.

    void send(jupyter::message m) {
        auto shared = std::make_shared<jupyter::message>(std::move(m));
        call_link([shared](std::shared_ptr<kernel_link> link) -> asio::awaitable<result<void>> {
            return link->send(std::move(*shared));
        });
    }

    /// From now on the kernel is drained, with all that it had sent.
    void end_code() {
        recorder_.writing().request_stop();
        session_.kernel_->life().interrupt();
        session_.kernel_->resume(); // a kernel that waits for a slow reader could not end its code
        call_link([](std::shared_ptr<kernel_link> link) -> asio::awaitable<result<void>> { return link->interrupt(); });
    }

    enum class called_for { answer, anything_else };

    template <class Call>
    void call_link(Call call, called_for what = called_for::anything_else) {
        ++calls_;
        // In one coroutine, so that a call that completes at once is heard of before what it brings about.
        auto const work = [](std::shared_ptr<session> self, Call asked,
                             occurrence::link_called event) -> asio::awaitable<void> {
            try {
                event.outcome = co_await asked(self->kernel_->link());
            } catch (...) { event.outcome = failure(error_of(std::current_exception())); }
            self->inbox_.push(std::move(event));
        };
        occurrence::link_called event{serial_, result<void>(), what == called_for::answer};
        spawn(session_.executor_, work(session_.shared_from_this(), std::move(call),
                                       std::move(event))); // nothing in it throws that is not heard of
    }

    void on(occurrence::link_called& c) {
        if (c.serial != serial_) return; // of an execution that did not wait for it
        --calls_;
        if (c.answered) answered();
        if (!c.outcome && execution_.finishes) leave_by_ = clock::now(); // nothing was asked: it is killed
        if (!c.outcome && c.outcome.error() == errc::message_too_large) {
            unsent_ = std::move(c.outcome).error(); // the code, of which the kernel has seen nothing
            return;
        }
        if (!c.outcome && (!over_ || ladder_.reason())) {
            death_ = c.outcome.error();
            session_.kernel_->died(generation_, c.outcome.error());
        }
    }

    void on(occurrence::kernel_ended& k) { death_ = std::move(k.why); }

    void on(occurrence::nudge const&) {}

    /// Time does not count while somebody decides.
    void on(occurrence::approvals_waiting const& a) {
        if ((a.count > 0) == deciding_) return;
        deciding_ = !deciding_;
        if (deciding_)
            ladder_.budget().pause(clock::now());
        else
            ladder_.budget().resume(clock::now());
    }

    void on(occurrence::input_answered& a) {
        if (a.question != asked_) return; // the code waits for it no longer
        // Jupyter has no way to refuse but the end-of-transmission character, which kernels take for the end of input.
        bool const refused = !a.line || a.line->size() > input_request::longest_line;
        auto line = refused ? std::string("\x04") : std::move(*a.line);
        jupyter::message reply(jupyter::channel::stdin_, "input_reply", {{"status", "ok"}, {"value", std::move(line)}});
        reply.parent_header = std::move(a.request_header);
        answer(std::move(reply));
    }

    /// One answer at a time is on its way to a kernel, which need not read: a newer one takes the place of one that waits.
    void answer(jupyter::message reply) {
        if (std::exchange(answering_, true)) {
            waiting_answer_ = std::move(reply);
            return;
        }
        auto shared = std::make_shared<jupyter::message>(std::move(reply));
        auto const sent = [shared](std::shared_ptr<kernel_link> link) -> asio::awaitable<result<void>> {
            return link->send(std::move(*shared));
        };
        call_link(sent, called_for::answer);
    }

    void answered() {
        answering_ = false;
        if (over_) waiting_answer_.reset();
        if (auto next = std::exchange(waiting_answer_, std::nullopt)) answer(std::move(*next));
    }

    void on(jupyter::message& m) {
        auto const number = m.number;
        auto in_hand = m.in_hand;
        in_turn_ += m.size + sizeof(m);
        std::visit([this](auto&& step) { follow(std::forward<decltype(step)>(step)); }, machine_.step(std::move(m)));
        if (!unshown_) return session_.kernel_->seen().saw(number);
        unshown_->number = number;
        unshown_->in_hand = std::move(in_hand);
    }

    /// Whether so much was dealt with that other handlers are to run.
    [[nodiscard]] bool takes_turns() noexcept {
        bool const enough = in_turn_ >= long_text;
        if (enough) in_turn_ = 0;
        return enough;
    }

    /// A display whose files another thread writes.
    struct saving_display {
        explicit saving_display(asio::any_io_executor const& executor) : wake(executor, clock::time_point::max()) {}
        bool is_done = false;
        std::exception_ptr thrown = nullptr;
        asio::steady_timer wake; ///< cancelled when it is done
    };

    /// Large output that is written and told in steps. No other message is dealt with meanwhile.
    struct large_output {
        std::variant<output_chunk, display> what;
        std::size_t written = 0; ///< bytes of a text
        std::uint64_t number = 0;
        std::shared_ptr<void> in_hand = {};
    };

    asio::awaitable<void> show_some() {
        if (auto const* const chunk = std::get_if<output_chunk>(&unshown_->what)) {
            write_slice(*chunk);
            co_await let_others_run();
        } else {
            save_aside();
        }
    }

    /// The same where nothing else is waited for any more.
    asio::awaitable<void> show_rest() {
        if (!saving_) co_await show_some();
        if (saving_ && !is_saved()) {
            asio::error_code ignored;
            co_await saving_->wake.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        }
        if (is_saved()) show_saved();
    }

    void write_slice(output_chunk const& chunk) {
        auto const rest = std::string_view(chunk.text).substr(unshown_->written);
        auto const slice = rest.substr(0, whole_characters(rest, long_text));
        unshown_->written += slice.size();
        write({chunk.stream, std::string(slice)});
        if (slice.size() == rest.size()) all_shown();
    }

    /// The files of a display are written on another thread. Time goes on meanwhile: code is interrupted and killed when it is due, whatever the disk does.
    void save_aside() {
        clear_if_due();
        auto const record = [this, &shown = std::get<display>(unshown_->what)] {
            recorder_.show(shown);
            return true;
        };
        using recorded = work_outcome<decltype(record)>;
        saving_ = std::make_shared<saving_display>(session_.executor_);
        auto const saved = [self = session_.shared_from_this(), saving = saving_](recorded came) {
            if (auto const* const thrown = std::get_if<1>(&came)) saving->thrown = *thrown;
            saving->is_done = true;
            saving->wake.cancel();
            self->inbox_.push(occurrence::nudge());
        };
        begin_aside(aside_, record, completion<recorded>(saved, session_.executor_));
    }

    [[nodiscard]] bool is_saved() const noexcept { return saving_ && saving_->is_done; }

    void show_saved() {
        auto const thrown = std::exchange(saving_, nullptr)->thrown;
        if (thrown) std::rethrow_exception(thrown);
        emit(std::move(std::get<display>(unshown_->what)));
        all_shown();
    }

    void all_shown() {
        session_.kernel_->seen().saw(unshown_->number);
        unshown_.reset();
    }

    void follow(nothing_new) {}

    void follow(output_chunk chunk) {
        if (chunk.text.size() < long_text) return write(std::move(chunk));
        unshown_.emplace(large_output{std::move(chunk)});
    }

    void follow(display shown) {
        if (shown.data.size() >= long_text) {
            unshown_.emplace(large_output{std::move(shown)});
            return;
        }
        clear_if_due();
        recorder_.show(shown);
        emit(std::move(shown));
    }

    void follow(clear_wanted clear) {
        recorder_.clear(true);
        if (!clear.wait) clear_if_due();
    }

    /// A reader is told when the output is cleared, not when the code asks for that.
    void clear_if_due() {
        if (recorder_.clear_if_due()) emit(output_cleared());
    }

    void follow(input_wanted wanted) {
        asked_ = ++session_.questions_;
        auto const answer = [weak = session_.outside_, question = asked_,
                             header = std::move(wanted.request_header)](std::unique_ptr<std::string> line) {
            auto event = std::make_shared<occurrence::input_answered>(
                occurrence::input_answered{question, std::move(line), header});
            post_to(weak, [event](session& s) { s.inbox_.push(std::move(*event)); });
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
        // Who reads a stream is asked behind all that was printed before.
        execution_.events->when_read([weak = session_.outside_, question = asked_, ask] {
            post_to(weak, [question, ask](session& s) {
                if (s.requests_.running() && s.questions_ == question) ask();
            });
        });
    }

    void follow(code_told) { ladder_.told(clock::now()); }

    void follow(code_ended) { ladder_.code_ended(clock::now()); }

    void follow(execution_over over) {
        if (!over.pager_text.empty()) write({output_stream::stdout_, over.pager_text});
        over_ = std::move(over);
        // The execution is over when the kernel is gone: what is asked of it afterwards finds a dead one, not a leaving one.
        if (over_->leaving) leave_by_ = clock::now() + session_.settings_->end_grace();
        // One that replied, and does not read what was sent before, would keep its execution for ever.
        if (!over_->leaving && calls_ > 0) leave_by_ = clock::now() + std::chrono::seconds(5);
    }

    /// The kernel said that it would end, and does not, or reads nothing any more: it could not serve another execution.
    void give_up_leaving() { lingers_ = true; }

    void write(output_chunk chunk) {
        if (chunk.text.empty()) return;
        clear_if_due();
        recorder_.write(chunk.text);
        if (execution_.chunks == chunk_events::on) emit(std::move(chunk));
    }

    void emit(execution_event event) {
        auto const& events = execution_.events;
        if (!events) return;
        // While the code is being ended the kernel must be drained, whether somebody reads or not; the result has it all.
        bool const ending = session_.kernel_->life().is_interrupting();
        if (ending && events->full()) return;
        events->push(std::move(event));
        if (!ending && events->full()) session_.kernel_->pause();
    }

    [[nodiscard]] result<execution_result> outcome() {
        auto const output_failure = recorder_.failure();
        auto output = recorder_.finish();
        output.elapsed = clock::now() - started_;
        output.kernel_restarted = freshness_ == kernel_freshness::fresh;
        if (over_) output.exit_code = over_->exit_code;

        std::optional<error> why;
        if (abandoned())
            why = error(execution_.unwanted->reason, "");
        else if (ladder_.reason())
            why = error(*ladder_.reason(), ending_text());
        else if (death_ && !over_)
            why = death_;
        else if (unsent_)
            why = unsent_;
        else if (over_ && over_->exception)
            why = error(errc::python_error, std::move(*over_->exception));
        else if (lingers_ && execution_.finishes)
            why = error(errc::timed_out, "the kernel did not end by itself within " +
                                             std::to_string(session_.settings_->options().end_grace.count()) +
                                             " ms, and was killed: its threads or exit functions still ran");
        else if (output_failure)
            why = output_failure;
        if (!why) return output;
        // How the code came to its end, where it was: of a timeout and a cancellation too.
        if (ladder_.reason() && over_ && over_->exception) why->with_exception(std::move(*over_->exception));
        return failure(why->with_output(std::make_shared<execution_result const>(std::move(output))));
    }

    /// Why the kernel was killed, which had replied.
    [[nodiscard]] std::string lingering_text() const {
        if (over_->leaving) return "the kernel did not end by itself after exit(), and was killed";
        return "the kernel did not read what was sent to it within 5 s after its reply, and was killed";
    }

    [[nodiscard]] std::string ending_text() const {
        std::string text = "the execution was cancelled";
        if (ladder_.reason() == errc::timed_out)
            text = "the code did not end within " + std::to_string(execution_.options.timeout->count()) + " ms";
        if (!killed_) return text;
        text += "; it did not end when interrupted, so its kernel was ";
        auto const* const no_fresh_one = session_.kernel_->life().death();
        return text +
               (no_fresh_one ? "killed; there is no fresh one: " + no_fresh_one->text() : "replaced by a fresh one");
    }

    session& session_;
    execution& execution_;
    unsigned const serial_;
    unsigned asked_ = 0; ///< the latest input request
    kernel_lifecycle::generation const generation_;
    clock::time_point const started_;
    std::string const request_id_ = jupyter::new_message_id();
    output_recorder recorder_;
    execute_machine machine_;
    stop_ladder ladder_;
    kernel_freshness freshness_;
    watched_run watched_;
    std::optional<execution_over> over_;
    clock::time_point leave_by_ = clock::time_point::max();
    std::optional<error> death_;
    std::optional<error> unsent_; ///< why the code did not reach the kernel
    bool killed_ = false;         ///< it did not end its code
    bool lingers_ = false;        ///< it did not end itself
    int calls_ = 0;
    bool answering_ = false; ///< an answer to `input()` is on its way
    std::optional<jupyter::message> waiting_answer_;
    bool deciding_ = false;                  ///< an approval is waited for
    std::optional<large_output> unshown_;    ///< output that is not written as a whole yet
    std::shared_ptr<saving_display> saving_; ///< of `unshown_`
    std::deque<occurrence::any> behind_;     ///< what came from the kernel meanwhile
    std::size_t in_turn_ = 0;                ///< bytes of messages since other handlers ran
    side_threads aside_;                     ///< the last member: its threads use the others
};

} // namespace ipybox::detail
