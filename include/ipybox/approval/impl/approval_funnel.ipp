#pragma once

#include <ipybox/approval/approval_funnel.hpp>
#include <ipybox/approval/approval_machine.hpp>
#include <ipybox/approval/impl/await_answer.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/core/json_depth.hpp>
#include <ipybox/core/strict_json.hpp>
#include <ipybox/core/time_budget.hpp>

#include <asio/cancellation_signal.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <list>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace ipybox {
namespace detail {

/// "60 s", "0.25 s"
IPYBOX_DECL std::string seconds_text(std::chrono::milliseconds time) {
    auto text = std::to_string(static_cast<double>(time.count()) / 1000);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text + " s";
}

inline std::optional<std::chrono::milliseconds> countable_if(std::optional<std::chrono::milliseconds> time) {
    return time ? std::optional(countable(*time)) : std::nullopt;
}

} // namespace detail

/// One request that waits for the policy.
struct approval_funnel::request {
    request(asio::any_io_executor const& executor, std::string cell) : timer(executor), cell_id(std::move(cell)) {}

    /// Answers in the policy's place. Where the policy was faster its answer is on the way already, and counts.
    void end(decided_by who, std::string reason) {
        if (!answer->decide(decision::reject(std::move(reason)))) return;
        by = who;
        policy.emit(asio::cancellation_type::terminal);
    }

    asio::steady_timer timer;
    std::string cell_id;
    std::shared_ptr<detail::approval_answer> answer;
    asio::cancellation_signal policy; ///< ends its coroutine
    decided_by by = decided_by::policy;
};

/// The answers that are waited for. From any thread.
struct approval_funnel::undecided {
    using answer_ptr = std::shared_ptr<detail::approval_answer>;

    void add(answer_ptr const& answer) {
        std::unique_lock lock(mutex);
        if (!abandoned) return (void)answers.insert(answer);
        lock.unlock();
        answer->decide(decision::reject("the executor has ended"));
    }
    void remove(answer_ptr const& answer) {
        std::scoped_lock const lock(mutex);
        answers.erase(answer);
    }
    void abandon() {
        std::set<answer_ptr> waiting;
        {
            std::scoped_lock const lock(mutex);
            abandoned = true;
            waiting = std::exchange(answers, {});
        }
        for (auto const& answer : waiting) answer->decide(decision::reject("the executor has ended"));
    }

    std::mutex mutex;
    std::set<answer_ptr> answers;
    bool abandoned = false;
};

struct approval_funnel::state {
    detail::approval_machine machine;
    std::shared_ptr<audit_log> audit;
    std::optional<std::chrono::milliseconds> timeout;
    std::function<void(std::size_t)> on_waiting;
    std::list<std::shared_ptr<request>> waiting;
    std::shared_ptr<undecided> answers = std::make_shared<undecided>();

    void changed() const {
        if (on_waiting) on_waiting(waiting.size());
    }

    /// Rejects those that `wanted` is true for. A copy, as those who are told may come back.
    template <class Predicate>
    void cancel(Predicate wanted) {
        for (auto const& each : std::list(waiting)) {
            if (wanted(*each)) each->end(decided_by::cancellation, "the code that asked has ended");
        }
    }
};

/// A request's place among those that wait.
class approval_funnel::place {
  public:
    place(std::shared_ptr<state> owner, std::shared_ptr<request> what) : owner_(std::move(owner)) {
        at_ = owner_->waiting.insert(owner_->waiting.end(), std::move(what));
        owner_->answers->add((*at_)->answer);
        owner_->changed();
    }
    place(place const&) = delete;
    place& operator=(place const&) = delete;
    ~place() {
        owner_->answers->remove((*at_)->answer);
        owner_->waiting.erase(at_);
        owner_->changed();
    }

  private:
    std::shared_ptr<state> owner_;
    std::list<std::shared_ptr<request>>::iterator at_;
};

IPYBOX_DECL std::uint64_t approval_funnel::fresh_id() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
}

IPYBOX_DECL approval_funnel::approval_funnel(approval_settings settings, std::function<void(std::size_t)> waiting)
    : state_(std::make_shared<state>(state{detail::approval_machine(settings, std::chrono::steady_clock::now()),
                                           settings.audit, detail::countable_if(settings.approval_timeout),
                                           std::move(waiting), std::list<std::shared_ptr<request>>()})) {}

IPYBOX_DECL approval_funnel::~approval_funnel() {
    state_->on_waiting = nullptr;
    cancel_all();
}

IPYBOX_DECL asio::awaitable<ruling> approval_funnel::decide(approval_subject subject, any_approval policy,
                                                            preparation before_asking) {
    return run(state_, std::move(subject), std::move(policy), std::move(before_asking));
}

IPYBOX_DECL asio::awaitable<ruling> approval_funnel::run(std::shared_ptr<state> self, approval_subject subject,
                                                         any_approval policy, preparation before_asking) {
    using clock = std::chrono::steady_clock;
    auto const began = clock::now();
    if (subject.id == 0) subject.id = fresh_id();
    if (self->timeout && !subject.deadline) subject.deadline = began + *self->timeout;
    // Arguments that are not built yet were counted: `may_be_built_later`.
    bool const readable = !subject.arguments || !subject.arguments.is_built() ||
                          !nests_deeper_than(detail::deepest_json, *subject.arguments);
    if (!readable) { // not even to be written down
        subject.arguments = nullptr;
        subject.exact_arguments.clear();
    }
    auto const shared = std::make_shared<approval_subject const>(std::move(subject));

    auto const unrecorded = [](error const& why) { return ruling{decision::reject(why.text()), decided_by::audit}; };
    if (self->audit) {
        if (auto written = self->audit->request(*shared); !written) co_return unrecorded(written.error());
    }

    std::optional<ruling> said;
    if (readable)
        said = self->machine.on_action(*shared, began);
    else
        said = ruling{decision::reject("its arguments nest too deeply"), decided_by::limit};
    if (!said) {
        auto asking = ask(self, shared, std::move(policy), std::move(before_asking));
        try {
            said = co_await std::move(asking);
        } catch (std::exception const&) { // cancelled before it began
            said = ruling{decision::reject("the approval was cancelled"), decided_by::cancellation};
        }
    }
    said->waited = clock::now() - began;

    if (self->audit) {
        if (auto written = self->audit->decision(shared->id, *said); !written) {
            if (said->granted) self->machine.given().revoke(*said->granted);
            co_return unrecorded(written.error());
        }
    }
    co_return std::move(*said);
}

IPYBOX_DECL asio::awaitable<ruling> approval_funnel::ask(std::shared_ptr<state> self,
                                                         std::shared_ptr<approval_subject const> subject,
                                                         any_approval policy, preparation before_asking) {
    auto const executor = co_await asio::this_coro::executor;
    auto const asked = std::make_shared<request>(executor, subject->cell_id);
    approval_request wanted(subject);
    asked->answer = wanted.pending_answer();
    if (!policy) asked->by = decided_by::no_policy;
    place const waits(self, asked);

    if (subject->deadline) {
        auto reason = std::string("no decision came in time");
        if (self->timeout) reason = "no decision came within " + detail::seconds_text(*self->timeout);
        asked->timer.expires_at(*subject->deadline);
        asked->timer.async_wait([asked, reason](asio::error_code cancelled) {
            if (!cancelled) asked->end(decided_by::timeout, reason);
        });
    }
    auto later = before_asking ? put(std::move(policy), std::move(wanted), std::move(before_asking))
                               : policy.ask(std::move(wanted));
    if (later) {
        // Beside this coroutine, so that a policy that never comes back holds up nothing.
        auto const keep = [asked](std::exception_ptr) {};
        detail::spawn(executor, std::move(*later), keep, asked->policy.slot());
    }

    if (!asked->answer->decided()) { // most policies that are no person answer at once
        auto const cancelled = [asked] { asked->end(decided_by::cancellation, "the approval was cancelled"); };
        try {
            auto pending = detail::await_answer(asked->answer, cancelled);
            (void)co_await std::move(pending);
        } catch (std::exception const&) { cancelled(); } // cancelled before it could wait
    }
    asked->timer.cancel();
    auto made = asked->answer->decided().value_or(decision::reject());
    co_return self->machine.on_answer(*subject, std::move(made), asked->by, std::chrono::steady_clock::now());
}

IPYBOX_DECL asio::awaitable<void> approval_funnel::put(any_approval policy, approval_request request,
                                                       preparation before_asking) {
    co_await before_asking();
    auto later = policy.ask(std::move(request));
    if (later) co_await std::move(*later);
}

IPYBOX_DECL ruling approval_funnel::settle(approval_subject const& subject, ruling said) {
    if (auto denied = state_->machine.denied(subject)) said = std::move(*denied);
    if (!state_->audit) return said;
    auto written = state_->audit->request(subject);
    if (written) written = state_->audit->decision(subject.id, said);
    if (written) return said;
    return ruling{decision::reject(written.error().text()), decided_by::audit};
}

IPYBOX_DECL result<void> approval_funnel::finished(std::uint64_t id, action_outcome const& ended) {
    if (!state_->audit) return {};
    return state_->audit->outcome(id, ended);
}

IPYBOX_DECL void approval_funnel::cancel_cell(std::string_view cell_id) {
    state_->machine.end_cell(cell_id);
    state_->cancel([cell_id](request const& r) { return r.cell_id == cell_id; });
}

IPYBOX_DECL void approval_funnel::cancel_all() {
    state_->cancel([](request const&) { return true; });
}

IPYBOX_DECL void approval_funnel::abandon() { state_->answers->abandon(); }

IPYBOX_DECL std::size_t approval_funnel::waiting() const noexcept { return state_->waiting.size(); }

IPYBOX_DECL std::uint64_t approval_funnel::give(grant what, std::string_view cell_id) {
    return state_->machine.given().add(std::move(what), std::chrono::steady_clock::now(), cell_id);
}

IPYBOX_DECL bool approval_funnel::revoke(std::uint64_t number) { return state_->machine.given().revoke(number); }

} // namespace ipybox
