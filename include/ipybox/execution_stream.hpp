#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/execution/execution_event.hpp>

#include <asio/async_result.hpp>
#include <asio/use_awaitable.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace ipybox {
namespace detail {
class event_queue;
}

/**
 * \brief The events of one execution, in order, the result last.
 * \details A reader that is slow slows the kernel down; memory stays bounded. A stream that is dropped before its end
 * interrupts the code: nothing hangs and the executor is usable.
 * \par Thread safety Distinct objects: safe. Shared objects: unsafe; one `next` at a time: a
 * second `async_next` ends the first, which completes without an event.
 * \par Object lifetimes May outlive its executor: the last event is then errc::not_running. One that was moved from has
 * no events.
 */
class execution_stream {
  public:
    /// The event by which the output so far is cleared.
    using output_cleared = detail::output_cleared;

    /// An event; none after the result.
    using event = std::optional<execution_event>;

    /// Made by the library.
    explicit execution_stream(std::shared_ptr<detail::event_queue> events) noexcept;
    /// The other one has no events afterwards.
    execution_stream(execution_stream&&) noexcept;
    /// Drops this stream as the destructor does. The other one has no events afterwards.
    execution_stream& operator=(execution_stream&&) noexcept;
    ~execution_stream();

    /**
     * \brief Waits for the next event; none after the result.
     * \details If the call would block the thread that has to serve it, the event is a result with
     * errc::would_deadlock, once, and then there are none: a loop ends. The execution goes on; `async_next`, or `next`
     * on another thread, has its events.
     */
    [[nodiscard]] event next();

    /**
     * \brief Waits for the next event.
     * \par Completion        void(std::optional<execution_event>), exactly once, never inline
     * \par Cancellation      terminal, partial, total: completes with no event; the execution goes on
     */
    template <asio::completion_token_for<void(event)> Token = asio::use_awaitable_t<>>
    auto async_next(Token&& token = Token{}) {
        return asio::async_initiate<Token, void(event)>(
            [events = events_](auto handler) { start_next(events, {std::move(handler), lender_of(*events)}); }, token);
    }

  private:
    static void start_next(std::shared_ptr<detail::event_queue> const& events, detail::completion<event> done);
    static detail::executor_lender const& lender_of(detail::event_queue const& events);

    std::shared_ptr<detail::event_queue> events_;
    bool refused_ = false; ///< `next` has said that it cannot be served
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/impl/execution_stream.ipp>
#endif
