#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/result.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace ipybox::detail {

class outstanding_calls;

/**
 * \brief A call of the application that has not completed yet. Its first outcome counts.
 * \par Thread safety Safe.
 */
class pending_call {
  public:
    /// When a call is served.
    enum class served { at_once, in_its_turn };

    pending_call() = default;
    pending_call(pending_call const&) = delete;
    pending_call& operator=(pending_call const&) = delete;
    virtual ~pending_call() = default;

    /// Completes with an error, if it has not completed.
    virtual void fail(error why) = 0;

    [[nodiscard]] bool has_completed() const noexcept { return completed_; }

    /// Sets what ends the work for it once it is not waited for any more. Both on the session's executor.
    void on_abandoned(std::function<void()> end) { abandoned_ = std::move(end); }
    void abandon() const {
        if (abandoned_) abandoned_();
    }

    /// Whether it is served behind the executions that were submitted before: a thread that one of them waits for must
    /// not wait for it.
    [[nodiscard]] virtual bool waits_its_turn() const noexcept { return false; }

  protected:
    /// Whether this is the first outcome.
    [[nodiscard]] bool first();

  private:
    friend class outstanding_calls;
    std::atomic<bool> completed_ = false;
    std::function<void()> abandoned_;
    std::shared_ptr<outstanding_calls> among_;
};

template <class T>
class pending_result : public pending_call {
  public:
    explicit pending_result(completion<result<T>> done, served when = served::at_once)
        : done_(std::move(done)), when_(when) {}

    void complete(result<T> outcome) {
        if (first()) done_(std::move(outcome));
    }
    void fail(error why) override { complete(failure(std::move(why))); }
    [[nodiscard]] bool waits_its_turn() const noexcept override { return when_ == served::in_its_turn; }

    [[nodiscard]] asio::cancellation_slot slot() const noexcept { return done_.slot(); }

  private:
    completion<result<T>> done_;
    served const when_;
};

/// Delivers what a coroutine comes to. If it throws, there is no value to deliver, and the one that Asio makes up would
/// look like success.
template <class T>
auto delivery_to(std::shared_ptr<pending_result<T>> call) {
    return [call = std::move(call)](std::exception_ptr bug, result<T> value) {
        call->complete(bug ? failure(error_of(bug)) : std::move(value));
    };
}

/**
 * \brief The calls of one session that have not completed: each does, whatever becomes of the session.
 * \par Thread safety Safe.
 */
class outstanding_calls : public std::enable_shared_from_this<outstanding_calls> {
    using table = std::map<pending_call*, std::shared_ptr<pending_call>>;

  public:
    /// False when all has ended: the call has failed then.
    [[nodiscard]] bool add(std::shared_ptr<pending_call> const& call) {
        std::unique_lock lock(mutex_);
        if (ended_) {
            lock.unlock();
            call->fail(*ended_);
            return false;
        }
        call->among_ = shared_from_this();
        calls_.emplace(call.get(), call);
        return true;
    }

    void remove(pending_call& call) {
        table::node_type removed; // dropped behind the lock
        std::scoped_lock const lock(mutex_);
        removed = calls_.extract(&call);
    }

    /// Fails all of them, and those that come later.
    void end(error const& why) {
        table ending;
        {
            std::scoped_lock const lock(mutex_);
            if (!ended_) ended_ = why;
            ending = calls_;
        }
        for (auto const& [key, call] : ending) call->fail(why);
    }

  private:
    std::mutex mutex_;
    table calls_;
    std::optional<error> ended_; ///< never changes again
};

inline bool pending_call::first() {
    if (completed_.exchange(true)) return false;
    if (auto const all = std::move(among_)) all->remove(*this);
    return true;
}

} // namespace ipybox::detail
