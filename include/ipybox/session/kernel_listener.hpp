#pragma once

#include <ipybox/session/kernel_link.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace ipybox::detail {

/**
 * \brief Takes the messages of one kernel, from its start to its end.
 * \details Each kernel has its own. It calls back on the executor: `on_message` for each message, then `on_end` once,
 * with why there are no more. A kernel that floods its host waits while messages of 4 MiB are worked on.
 * \par Thread safety Unsafe: belongs to its executor.
 */
class kernel_listener : public std::enable_shared_from_this<kernel_listener> {
  public:
    using clock = std::chrono::steady_clock;

    kernel_listener(asio::any_io_executor executor, std::shared_ptr<kernel_link> link,
                    std::function<void(jupyter::message)> on_message, std::function<void(error)> on_end);

    void begin();

    /// Takes no messages until `resume()`: the kernel waits in its writes.
    void pause() noexcept { paused_ = true; }
    void resume();

    /// For a kernel that was ended: what it had sent is taken, however much waits, and dropped.
    void drop_rest();

    /// Waits until the kernel has hung up, but no longer than a bound.
    asio::awaitable<void> ends_by(clock::time_point bound);

    /// Takes no more messages: the link may have another kernel.
    void leave();

  private:
    /// Fails with why there are no more messages, unless it was left.
    static asio::awaitable<result<void>> listen(std::shared_ptr<kernel_listener> self);
    static asio::awaitable<void> wait_for(asio::steady_timer& timer, clock::time_point bound);
    void on_ended(result<void> end);
    void pass_on(jupyter::message m);
    void let_go(std::size_t bytes) noexcept;
    [[nodiscard]] bool waits() const noexcept;

    asio::any_io_executor const executor_;
    std::shared_ptr<kernel_link> const link_;
    std::function<void(jupyter::message)> const on_message_;
    std::function<void(error)> on_end_; ///< none: it was called
    std::size_t in_hand_ = 0;           ///< bytes of messages that are still worked on
    bool paused_ = false;
    bool drops_ = false;
    bool left_ = false;
    asio::steady_timer resumed_;
    asio::steady_timer ended_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/kernel_listener.ipp>
#endif
