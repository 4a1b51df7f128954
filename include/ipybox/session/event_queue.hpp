#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/execution/execution_event.hpp>

#include <asio/any_io_executor.hpp>

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace ipybox::detail {

/**
 * \brief Carries the events of one execution from the session to the reader of its stream.
 * \details Bounded by flow control: the session stops taking messages of the kernel while `full()`, and hears when there is room again.
 * \par Thread safety Safe.
 */
class event_queue {
  public:
    using event = std::optional<execution_event>;

    /// `executor` is where handlers without one of their own run; `is_here` tells whether the calling thread serves it.
    event_queue(asio::any_io_executor executor, std::function<bool()> is_here)
        : executor_(std::move(executor)), is_here_(std::move(is_here)) {}

    /// What the reader's doings are told to; set before the first event. Called on any thread.
    void on_reader(std::function<void()> room, std::function<void()> left);

    void push(execution_event e);

    /// Pushes the last event.
    void finish(result<execution_result> last);

    [[nodiscard]] bool full() const;

    /// The next event if it is there: none behind the last one, nothing at all when it has to be waited for.
    [[nodiscard]] std::optional<event> try_next();

    /// Delivers the next event, now or when it comes; none behind the last one.
    void next(completion<event> reader);

    /// Calls `then` once the reader has taken everything and waits for more; never, if the reader or the execution ends before.
    void when_read(std::function<void()> then);

    /// The reader waits no longer: completes its `next` with no event.
    void cancel_next();

    /// The reader is gone.
    void leave();

    /// Where handlers without an executor of their own run. Behind the end that is the system's: the session's may be gone.
    [[nodiscard]] asio::any_io_executor executor() const;

    [[nodiscard]] bool is_here() const { return is_here_(); }

  private:
    static constexpr std::size_t most_bytes = std::size_t(4) << 20;
    static constexpr std::size_t most_events = 1024;

    [[nodiscard]] bool is_full() const noexcept { return bytes_ > most_bytes || events_.size() > most_events; }
    void push_locked(execution_event e);
    bool append_to_last(execution_event& e);

    [[nodiscard]] std::optional<event> take_locked(std::function<void()>& tell);

    asio::any_io_executor const executor_;
    std::function<bool()> const is_here_;
    mutable std::mutex mutex_;
    std::deque<execution_event> events_;
    std::size_t bytes_ = 0;
    bool finished_ = false;
    completion<event> reader_;
    std::function<void()> on_room_;
    std::function<void()> on_left_;
    std::function<void()> on_read_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/event_queue.ipp>
#endif
