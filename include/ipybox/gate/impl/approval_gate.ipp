#pragma once

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/approval/await_decision.hpp>
#include <ipybox/approval/decision_state.hpp>
#include <ipybox/async/aside.hpp>
#include <ipybox/async/emit_cancellation.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/core/json_depth.hpp>
#include <ipybox/core/strict_json.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/gate/approval_gate.hpp>
#include <ipybox/gate/approval_machine.hpp>
#include <ipybox/gate/watched_servers.hpp>

#include <asio/cancellation_signal.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <list>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace ipybox::detail {

/// "60 s", "0.25 s"
inline std::string seconds_text(std::chrono::milliseconds time) {
    auto text = std::to_string(static_cast<double>(time.count()) / 1000);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text + " s";
}

inline std::optional<std::chrono::milliseconds> clamped_if(std::optional<std::chrono::milliseconds> time) {
    return time ? std::optional(clamped(*time)) : std::nullopt;
}

/// A policy that blocks for so long has asked a person: its time counts as waiting.
inline constexpr std::chrono::milliseconds shortest_pause{1};

/// One request that waits for the policy.
struct approval_gate::request {
    request(asio::any_io_executor const& executor, approval_subject const& subject)
        : timer(executor), cell_id(subject.cell_id), server(subject.server), of_application(subject.of_application) {}

    [[nodiscard]] bool is_of_cell(std::string_view cell) const { return !of_application && cell_id == cell; }

    /// Decides in the policy's place. If the policy was faster, its decision is on the way already, and counts.
    void end(error::decider who, std::string reason) {
        if (!awaited->decide(decision::reject(std::move(reason)))) return;
        by = who;
        emit_cancellation(policy);
    }

    asio::steady_timer timer;
    std::string const cell_id;
    std::string const server;
    bool const of_application;
    bool is_asked = false; ///< what has to be shown first was shown
    std::shared_ptr<decision_state> awaited;
    asio::cancellation_signal policy; ///< ends its coroutine
    error::decider by = error::decider::policy;
};

/// The decisions that are waited for. From any thread.
struct approval_gate::undecided {
    using state_ptr = std::shared_ptr<decision_state>;

    void add(state_ptr const& each) {
        std::unique_lock lock(mutex);
        if (!abandoned) return (void)waiting_for.insert(each);
        lock.unlock();
        each->decide(decision::reject("the executor has ended"));
    }
    void remove(state_ptr const& each) {
        std::scoped_lock const lock(mutex);
        waiting_for.erase(each);
    }
    void abandon() {
        std::set<state_ptr> left;
        {
            std::scoped_lock const lock(mutex);
            abandoned = true;
            left = std::exchange(waiting_for, {});
        }
        for (auto const& each : left) each->decide(decision::reject("the executor has ended"));
    }

    std::mutex mutex;
    std::set<state_ptr> waiting_for;
    std::atomic<bool> abandoned = false;
};

struct approval_gate::state {
    approval_machine machine;
    std::shared_ptr<audit_log> audit;
    std::string session; ///< its name in the log
    std::optional<std::chrono::milliseconds> timeout;
    std::function<void(clock::time_point)> on_waiting;
    std::list<std::shared_ptr<request>> waiting;
    std::shared_ptr<watched_servers> servers = std::make_shared<watched_servers>();
    std::shared_ptr<undecided> pending = std::make_shared<undecided>();
    std::unique_ptr<side_threads> threads = std::make_unique<side_threads>(); ///< for what is made of long arguments

    static answer cancelled() { return {decision::reject("the approval was cancelled"), error::decider::cancellation}; }
    static answer gone(std::string const& server) {
        return {decision::reject("the server '" + server + "' was removed or replaced meanwhile"),
                error::decider::cancellation};
    }

    void changed(clock::time_point at = clock::now()) const {
        if (on_waiting) on_waiting(at);
    }

    template <class Predicate>
    [[nodiscard]] std::size_t count(Predicate wanted) const {
        return static_cast<std::size_t>(
            std::ranges::count_if(waiting, [&](auto const& each) { return each->is_asked && wanted(*each); }));
    }

    /// The policy is asked now: until then time budgets go on, as what has to be shown first may never come.
    void begin(request& asked) const {
        asked.is_asked = true;
        changed();
    }

    /// Rejects those that `wanted` is true for. A copy, as those who are told may come back.
    template <class Predicate>
    void cancel(Predicate wanted) {
        for (auto const& each : std::list(waiting))
            if (wanted(*each)) each->end(error::decider::cancellation, "the code that asked has ended");
    }
};

/// A request's place among those that wait.
class approval_gate::place {
  public:
    place(std::shared_ptr<state> owner, std::shared_ptr<request> what) : owner_(std::move(owner)) {
        at_ = owner_->waiting.insert(owner_->waiting.end(), std::move(what));
        owner_->pending->add((*at_)->awaited);
    }
    place(place const&) = delete;
    place& operator=(place const&) = delete;
    ~place() {
        bool const was_asked = (*at_)->is_asked;
        owner_->pending->remove((*at_)->awaited);
        owner_->waiting.erase(at_);
        if (was_asked) owner_->changed();
    }

  private:
    std::shared_ptr<state> owner_;
    std::list<std::shared_ptr<request>>::iterator at_;
};

IPYBOX_DECL std::uint64_t approval_gate::fresh_id() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
}

IPYBOX_DECL approval_gate::approval_gate(approval_settings settings, std::function<void(clock::time_point)> waiting)
    : state_(std::make_shared<state>(state{approval_machine(settings, std::chrono::steady_clock::now()), settings.audit,
                                           settings.audit_session, clamped_if(settings.approval_timeout),
                                           std::move(waiting), std::list<std::shared_ptr<request>>()})) {}

IPYBOX_DECL approval_gate::~approval_gate() {
    state_->on_waiting = nullptr;
    cancel_all();
}

IPYBOX_DECL asio::awaitable<verdict> approval_gate::decide(approval_subject subject, any_approval policy,
                                                           preparation before_asking) {
    return run(state_, std::move(subject), std::move(policy), std::move(before_asking));
}

IPYBOX_DECL asio::awaitable<verdict> approval_gate::run(std::shared_ptr<state> self, approval_subject subject,
                                                        any_approval policy, preparation before_asking) {
    auto const began = clock::now();
    watched_servers::watch const server(self->servers, subject.of_application ? std::string() : subject.server);
    if (subject.id == 0) subject.id = fresh_id();
    if (self->timeout && !subject.deadline) subject.deadline = began + *self->timeout;
    // Arguments that are not built yet came over the action channel, which lets none through that nest more deeply.
    bool const readable =
        !subject.arguments || !subject.arguments.is_built() || !nests_deeper_than(deepest_json, *subject.arguments);
    if (!readable) { // not even to be written down
        subject.arguments = nullptr;
        subject.exact_arguments.clear();
    }
    auto const shared = std::make_shared<approval_subject const>(std::move(subject));

    // Work aside is waited for, also where it is not wanted any more.
    bool const throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);

    // Of long arguments this takes seconds, in which the sessions of other executors of this thread go on.
    bool const is_long = shared->arguments && !shared->arguments.is_built();
    std::optional<std::string> digest;
    auto const make_digest = [shared] { return digest_of(*shared); };
    if (is_long && self->machine.compares(*shared)) {
        digest = co_await aside(*self->threads, make_digest);
    } else if (is_long && self->machine.reads_arguments(*shared)) {
        auto const build = [shared] { return shared->arguments->size(); };
        (void)co_await aside(*self->threads, build);
    }

    auto const unrecorded = [](error const& why) {
        return verdict{decision::reject(why.text()), error::decider::audit};
    };
    result<void> written;
    if (self->audit) {
        auto const record = [audit = self->audit, session = self->session, shared] {
            return audit->request(*shared, session);
        };
        if (is_long)
            written = co_await aside(*self->threads, record);
        else
            written = record();
    }
    co_await asio::this_coro::throw_if_cancelled(throws);
    if (!written) co_return unrecorded(written.error());

    auto const cancellation = co_await asio::this_coro::cancellation_state;
    bool const cancelled = cancellation.cancelled() != asio::cancellation_type::none;
    std::optional<verdict> said;
    if (!readable)
        said = verdict{decision::reject("its arguments nest too deeply"), error::decider::limit};
    else if (!cancelled)
        said = self->machine.on_action(*shared, began, digest);
    std::optional<answer> made;
    if (!said && cancelled) {
        made = self->cancelled();
    } else if (!said && policy.decides_at_once() && !before_asking) {
        made = ask_now(*self, co_await asio::this_coro::executor, shared, policy);
    } else if (!said) {
        auto asking = ask(self, shared, std::move(policy), std::move(before_asking));
        try {
            made = co_await std::move(asking);
        } catch (std::exception const&) { // cancelled before it began
            made = self->cancelled();
        }
    }
    if (made) {
        // Before the grant that may come with it: an answer in the same turn is faster than the end of the question.
        if (server.is_gone()) made = self->gone(shared->server);
        co_await asio::this_coro::throw_if_cancelled(false);
        if (is_long && !digest && self->machine.remembers(*shared, made->decided, made->by))
            digest = co_await aside(*self->threads, make_digest);
        co_await asio::this_coro::throw_if_cancelled(throws);
        said = self->machine.on_answer(*shared, std::move(made->decided), made->by, clock::now(), digest);
    }
    said->waited = clock::now() - began;

    if (self->audit) {
        if (auto decided = self->audit->decision(shared->id, *said); !decided) {
            if (said->granted) self->machine.given().revoke(*said->granted);
            co_return unrecorded(decided.error());
        }
    }
    co_return std::move(*said);
}

/// Nothing can happen while such a policy decides, so that it has no place among those that wait.
IPYBOX_DECL approval_gate::answer approval_gate::ask_now(state& self, asio::any_io_executor const& executor,
                                                         std::shared_ptr<approval_subject const> const& subject,
                                                         any_approval const& policy) {
    auto const began = clock::now();
    auto made = policy.decide_now(approval_request(subject));
    if (clock::now() - began >= shortest_pause) {
        auto const waited = std::make_shared<request>(executor, *subject);
        waited->is_asked = true;
        self.waiting.push_back(waited);
        self.changed(began);
        self.waiting.remove(waited);
        self.changed();
    }
    if (self.pending->abandoned) return {decision::reject("the executor has ended"), error::decider::cancellation};
    return {std::move(made), error::decider::policy};
}

IPYBOX_DECL asio::awaitable<approval_gate::answer> approval_gate::ask(std::shared_ptr<state> self,
                                                                      std::shared_ptr<approval_subject const> subject,
                                                                      any_approval policy, preparation before_asking) {
    auto const executor = co_await asio::this_coro::executor;
    auto const asked = std::make_shared<request>(executor, *subject);
    approval_request wanted(subject);
    asked->awaited = state_of(wanted);
    if (!policy) asked->by = error::decider::no_policy;
    place const waits(self, asked);

    if (subject->deadline) {
        auto reason = std::string("no decision came in time");
        if (self->timeout) reason = "no decision came within " + seconds_text(*self->timeout);
        asked->timer.expires_at(*subject->deadline);
        asked->timer.async_wait([asked, reason](asio::error_code cancelled) {
            if (!cancelled) asked->end(error::decider::timeout, reason);
        });
    }
    std::optional<asio::awaitable<void>> later;
    if (before_asking) {
        later = put(self, asked, std::move(policy), std::move(wanted), std::move(before_asking));
    } else {
        self->begin(*asked);
        later = policy.ask(std::move(wanted));
    }
    if (later) {
        // Beside this coroutine, so that a policy that never comes back holds up nothing.
        auto const keep = [asked](std::exception_ptr) {};
        spawn(executor, std::move(*later), keep, asked->policy.slot());
    }

    if (!asked->awaited->decided()) { // most policies that are no person answer at once
        auto const cancelled = [asked] { asked->end(error::decider::cancellation, "the approval was cancelled"); };
        try {
            auto pending = await_decision(asked->awaited, cancelled);
            (void)co_await std::move(pending);
        } catch (std::exception const&) { cancelled(); } // cancelled before it could wait
    }
    asked->timer.cancel();
    co_return answer{asked->awaited->decided().value_or(decision::reject()), asked->by};
}

IPYBOX_DECL asio::awaitable<void> approval_gate::put(std::shared_ptr<state> self, std::shared_ptr<request> asked,
                                                     any_approval policy, approval_request wanted,
                                                     preparation before_asking) {
    co_await before_asking();
    self->begin(*asked);
    auto later = policy.ask(std::move(wanted));
    if (later) co_await std::move(*later);
}

IPYBOX_DECL verdict approval_gate::settle(approval_subject const& subject, verdict said) {
    if (auto denied = state_->machine.denied(subject)) said = std::move(*denied);
    if (!state_->audit) return said;
    auto written = state_->audit->request(subject, state_->session);
    if (written) written = state_->audit->decision(subject.id, said);
    if (written) return said;
    return verdict{decision::reject(written.error().text()), error::decider::audit};
}

IPYBOX_DECL result<void> approval_gate::finished(std::uint64_t id, action_outcome const& ended) {
    if (!state_->audit) return {};
    return state_->audit->outcome(id, ended);
}

IPYBOX_DECL void approval_gate::cancel_cell(std::string_view cell_id) {
    state_->machine.end_cell(cell_id);
    state_->cancel([cell_id](request const& r) { return r.is_of_cell(cell_id); });
}

IPYBOX_DECL void approval_gate::cancel_code() {
    state_->cancel([](request const& r) { return !r.of_application; });
}

IPYBOX_DECL void approval_gate::cancel_server(std::string_view server) {
    state_->cancel([server](request const& r) { return !r.of_application && r.server == server; });
}

IPYBOX_DECL void approval_gate::cancel_all() {
    state_->cancel([](request const&) { return true; });
}

IPYBOX_DECL void approval_gate::abandon() { state_->pending->abandon(); }

IPYBOX_DECL std::size_t approval_gate::waiting() const noexcept {
    return state_->count([](request const&) { return true; });
}

IPYBOX_DECL std::size_t approval_gate::waiting(std::string_view cell_id) const noexcept {
    return state_->count([cell_id](request const& r) { return r.is_of_cell(cell_id); });
}

IPYBOX_DECL std::uint64_t approval_gate::add_grant(grant what, std::string_view cell_id) {
    return state_->machine.given().add(std::move(what), std::chrono::steady_clock::now(), cell_id);
}

IPYBOX_DECL bool approval_gate::revoke_grant(std::uint64_t number) { return state_->machine.given().revoke(number); }

IPYBOX_DECL std::function<void(std::string const& server)> approval_gate::forgetting_servers() const {
    return [state = state_](std::string const& server) {
        state->servers->forget(server);
        state->machine.given().forget_server(server);
    };
}

IPYBOX_DECL std::vector<grant::active> approval_gate::active_grants() const {
    return state_->machine.given().list(std::chrono::steady_clock::now());
}

} // namespace ipybox::detail
