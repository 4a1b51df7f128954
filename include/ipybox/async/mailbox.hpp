#pragma once

#include <ipybox/core/config.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <deque>
#include <optional>
#include <utility>

namespace ipybox::detail {

/**
 * \brief A queue that one coroutine reads, with a deadline.
 * \par Thread safety Unsafe: writers and the reader share one strand.
 */
template <class T>
class mailbox {
  public:
    using clock = std::chrono::steady_clock;
    static constexpr clock::time_point never = clock::time_point::max();

    explicit mailbox(asio::any_io_executor const& executor) : wake_(executor) {}

    void push(T item) {
        items_.push_back(std::move(item));
        wake_.cancel();
    }

    void clear() noexcept { items_.clear(); }

    /// Takes what there is.
    [[nodiscard]] std::deque<T> take_all() noexcept { return std::exchange(items_, {}); }

    /// Takes the oldest item; none when the deadline passed first.
    asio::awaitable<std::optional<T>> pop(clock::time_point deadline = never) {
        while (items_.empty()) {
            if (deadline != never && clock::now() >= deadline) co_return std::nullopt;
            wake_.expires_at(deadline);
            asio::error_code cancelled;
            co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
        }
        std::optional<T> item(std::move(items_.front()));
        items_.pop_front();
        co_return item;
    }

  private:
    std::deque<T> items_;
    asio::steady_timer wake_;
};

} // namespace ipybox::detail
