#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/core/move_only_function.hpp>
#include <ipybox/core/result.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace ipybox::detail {

/// A `bounded_completion` without the type of its value: the bound, and what else ends the wait.
class completion_bound : public std::enable_shared_from_this<completion_bound> {
  public:
    completion_bound(completion_bound const&) = delete;
    completion_bound& operator=(completion_bound const&) = delete;
    virtual ~completion_bound() = default;

    [[nodiscard]] bool answered() const noexcept { return answered_; }

  protected:
    completion_bound(asio::any_io_executor const& executor, std::chrono::milliseconds bound);

    void begin(move_only_function<error()> late, std::stop_token unwanted);

    /// Whether this is the first answer. It ends the wait.
    [[nodiscard]] bool answer();

    virtual void fail(error why) = 0;

  private:
    asio::steady_timer timer_;
    bool answered_ = false;
    std::optional<std::stop_callback<std::function<void()>>> unwanted_;
};

/**
 * \brief A completion that completes by itself, with an error, when it was not completed within a bound. The first
 * value counts, later ones are dropped.
 * \par Thread safety Unsafe: used on the executor it was made with.
 */
template <class T>
class bounded_completion final : public completion_bound {
  public:
    using value = result<T>;

    /// `late` makes the error; it is called on the executor. A stop request, from any thread, completes with
    /// errc::not_running.
    static std::shared_ptr<bounded_completion> make(asio::any_io_executor const& executor,
                                                    std::chrono::milliseconds bound, completion<value> done,
                                                    move_only_function<error()> late, std::stop_token unwanted = {}) {
        std::shared_ptr<bounded_completion> self(new bounded_completion(executor, bound, std::move(done)));
        self->begin(std::move(late), std::move(unwanted));
        return self;
    }

    void operator()(value v) {
        if (answer()) done_(std::move(v));
    }

  private:
    bounded_completion(asio::any_io_executor const& executor, std::chrono::milliseconds bound, completion<value> done)
        : completion_bound(executor, bound), done_(std::move(done)) {}

    void fail(error why) override { (*this)(failure(std::move(why))); }

    completion<value> done_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/async/impl/bounded_completion.ipp>
#endif
