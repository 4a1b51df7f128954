#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/async/executor_lender.hpp>
#include <ipybox/core/owning_process.hpp>
#include <ipybox/execution/execution_event.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace ipybox::detail {

/**
 * \brief Carries the events of one execution from the session to the reader of its stream.
 * \details Bounded by flow control: the session stops taking messages of the kernel while `full()`, and hears when
 * there is room again.
 * \par Thread safety Safe.
 */
class event_queue final : public executor_lender {
  public:
    using event = std::optional<execution_event>;

    /// `session` has the executor where handlers without one of their own run; `may_block` tells whether a thread that
    /// waits would be served.
    event_queue(std::weak_ptr<executor_lender const> session, std::function<result<void>()> may_block)
        : session_(std::move(session)), may_block_(std::move(may_block)) {}

    /// One that is behind its end, for streams that were moved from.
    [[nodiscard]] static std::shared_ptr<event_queue> const& ended();

    /// The listener that hears of the reader; set before the first event. Called on any thread.
    void on_reader(std::function<void()> room, std::function<void()> left);

    void push(execution_event e);

    /// Pushes the last event.
    void finish(result<execution_result> last);

    [[nodiscard]] bool full() const;

    /// The next event if it is there: none behind the last one, nothing at all when it has to be waited for.
    [[nodiscard]] std::optional<event> try_next();

    /// A number for a wait, by which it can be cancelled.
    [[nodiscard]] std::uint64_t next_wait() noexcept { return ++last_wait_; }

    /// Delivers the next event, now or when it comes; none behind the last one.
    void next(completion<event> reader, std::uint64_t wait);

    /// Calls `then` once the reader has taken everything and waits for more; never, if the reader or the execution ends
    /// before.
    void when_read(std::function<void()> then);

    /// The reader waits no longer: completes that `next` with no event, if it still waits.
    void cancel_next(std::uint64_t wait);

    /// The reader is gone.
    void leave();

    /// The executor of handlers without an executor of their own. Behind the end that is the system's: the session's
    /// may be gone.
    void with_executor(borrower const& use) const override;

    /// Whether a thread that waits for the next event would be served. Behind the end it need not wait.
    [[nodiscard]] result<void> may_block() const;

  private:
    static constexpr std::size_t most_bytes = std::size_t(4) << 20;
    static constexpr std::size_t most_events = 1024;

    /// The events for a reader, once the queue is no longer locked: it may come back.
    struct delivery {
        completion<event> reader;
        event what;
        void operator()() {
            if (reader) reader(std::move(what));
        }
    };

    [[nodiscard]] bool is_full() const noexcept { return bytes_ > most_bytes || events_.size() > most_events; }
    [[nodiscard]] delivery push_locked(execution_event e);
    bool append_to_last(execution_event& e);

    [[nodiscard]] std::optional<event> take_locked(std::function<void()>& tell);

    std::weak_ptr<executor_lender const> const session_;
    std::function<result<void>()> may_block_;
    std::atomic<std::uint64_t> last_wait_ = 0;
    owning_process const owner_;
    mutable std::mutex mutex_;
    std::deque<execution_event> events_;
    std::size_t bytes_ = 0;
    bool finished_ = false;
    completion<event> reader_;
    std::uint64_t wait_ = 0; ///< of the reader
    std::function<void()> on_room_;
    std::function<void()> on_left_;
    std::function<void()> on_read_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/event_queue.ipp>
#endif
