#pragma once

#include <ipybox/core/result.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::http::detail {

/// Lines from several answers for the one who reads them all. Those who bring more than 64 KiB wait until it was taken,
/// and go on in the order in which they came: one who brings lines without end holds up no other.
class line_queue {
  public:
    explicit line_queue(asio::any_io_executor const& executor)
        : arrived_(executor, asio::steady_timer::time_point::max()),
          taken_(executor, asio::steady_timer::time_point::max()) {}

    asio::awaitable<void> put(std::string line) {
        asio::error_code woken;
        auto const place = came_++;
        while ((waiting_ > most || place != next_) && !end_)
            co_await taken_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
        ++next_;
        waiting_ += line.size();
        lines_.push_back(std::move(line));
        arrived_.cancel();
        if (came_ != next_) taken_.cancel(); // it is the next one's turn
    }

    /// The next line, valid until the next call. Those that were there at the end come first.
    asio::awaitable<result<std::string_view>> take() {
        asio::error_code woken;
        while (lines_.empty() && !end_) co_await arrived_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
        if (lines_.empty()) co_return failure(*end_);
        line_ = std::move(lines_.front());
        lines_.pop_front();
        waiting_ -= line_.size();
        taken_.cancel();
        co_return std::string_view(line_);
    }

    /// There will be no more. The first reason counts.
    void end(error why) {
        if (end_) return;
        end_ = std::move(why);
        arrived_.cancel();
        taken_.cancel();
    }

    /// The reason for the end; none: it has not come.
    [[nodiscard]] std::optional<error> const& why_ended() const noexcept { return end_; }

  private:
    static constexpr std::size_t most = std::size_t(64) << 10;

    std::deque<std::string> lines_;
    std::size_t waiting_ = 0; ///< bytes of them
    std::uint64_t came_ = 0;  ///< those who brought lines, and
    std::uint64_t next_ = 0;  ///< the first of them who waits
    std::string line_;        ///< that was taken last
    asio::steady_timer arrived_;
    asio::steady_timer taken_;
    std::optional<error> end_;
};

} // namespace ipybox::http::detail
