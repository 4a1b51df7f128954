#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/core/time_budget.hpp>

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace ipybox::detail {

/**
 * \brief A completion that completes by itself, with an error, when it was not completed within a bound. The first
 * value counts, later ones are dropped.
 * \par Thread safety Unsafe: used on the executor it was made with.
 */
template <class T>
class bounded_completion : public std::enable_shared_from_this<bounded_completion<T>> {
  public:
    using value = result<T>;

    /// `late` makes the error; it is called on the executor. A stop request, from any thread, completes with
    /// errc::not_running.
    static std::shared_ptr<bounded_completion> make(asio::any_io_executor const& executor,
                                                    std::chrono::milliseconds bound, completion<value> done,
                                                    std::function<error()> late, std::stop_token unwanted = {}) {
        std::shared_ptr<bounded_completion> self(new bounded_completion(executor, bound, std::move(done)));
        self->timer_.async_wait([self, late = std::move(late)](asio::error_code cancelled) {
            if (!cancelled && self->done_) self->done_(value(failure(late())));
        });
        auto const give_up = [executor, weak = self->weak_from_this()] {
            asio::post(executor, [weak] {
                if (auto const waiting = weak.lock()) (*waiting)(failure(errc::not_running));
            });
        };
        if (unwanted.stop_possible()) self->unwanted_.emplace(std::move(unwanted), give_up);
        return self;
    }

    void operator()(value v) {
        if (!done_) return;
        timer_.cancel();
        done_(std::move(v));
    }

    [[nodiscard]] bool answered() const noexcept { return !done_; }

  private:
    bounded_completion(asio::any_io_executor const& executor, std::chrono::milliseconds bound, completion<value> done)
        : timer_(executor, clamped(bound)), done_(std::move(done)) {}

    asio::steady_timer timer_;
    completion<value> done_;
    std::optional<std::stop_callback<std::function<void()>>> unwanted_;
};

} // namespace ipybox::detail
