#pragma once

#include <ipybox/core/config.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace ipybox::detail {

/**
 * \brief How far a session has come with its kernel's messages, for those that have to wait for one of them.
 * \details An action and the output that was printed before it come on two sockets. The action names the last message
 * that was sent before it.
 * \par Thread safety Unsafe: to be used on the session's executor.
 */
class seen_messages {
  public:
    using clock = std::chrono::steady_clock;

    explicit seen_messages(asio::any_io_executor executor) : executor_(std::move(executor)) {}

    /// Another kernel begins to count.
    void begin() noexcept { last_ = 0; }

    /// The session has dealt with a message. 0: its transport does not count, or has taken it as a sign of life.
    void saw(std::uint64_t number) {
        if (number > last_) last_ = number;
        for (auto at = waiting_.begin(); at != waiting_.end() && at->first <= last_; ++at) at->second->cancel();
    }

    /// Whether the session has dealt with a message.
    [[nodiscard]] bool has(std::uint64_t number) const noexcept { return number <= last_; }

    /// Waits until a message was dealt with, within a bound: its number is the kernel's word.
    [[nodiscard]] static asio::awaitable<void> reach(std::shared_ptr<seen_messages> self, std::uint64_t number,
                                                     clock::duration bound) {
        if (self->has(number)) co_return;
        asio::steady_timer woken(self->executor_, bound);
        place const waits(*self, number, woken);
        asio::error_code why;
        co_await woken.async_wait(asio::redirect_error(asio::use_awaitable, why));
    }

  private:
    using waiting = std::multimap<std::uint64_t, asio::steady_timer*>;

    /// A wait's place among the others.
    class place {
      public:
        place(seen_messages& owner, std::uint64_t number, asio::steady_timer& woken)
            : owner_(owner), at_(owner.waiting_.emplace(number, &woken)) {}
        place(place const&) = delete;
        place& operator=(place const&) = delete;
        ~place() { owner_.waiting_.erase(at_); }

      private:
        seen_messages& owner_;
        waiting::iterator at_;
    };

    asio::any_io_executor executor_;
    std::uint64_t last_ = 0;
    waiting waiting_;
};

} // namespace ipybox::detail
