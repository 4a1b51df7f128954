#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/core/move_only_function.hpp>

#include <asio/awaitable.hpp>

#include <optional>
#include <utility>

namespace ipybox::detail {

/// Where a coroutine waits for its value, without the type of that.
class value_place {
  public:
    template <class T>
    explicit value_place(std::optional<T>& place) : place_(&place), fill_(&fill_as<T>) {}

    /// Moves the value out of the `T` that `value` points to.
    void fill(void* value) const { fill_(place_, value); }

  private:
    template <class T>
    static void fill_as(void* place, void* value) {
        static_cast<std::optional<T>*>(place)->emplace(std::move(*static_cast<T*>(value)));
    }

    void* place_;
    void (*fill_)(void* place, void* value);
};

/// Suspends the coroutine, which has the place and the function in its frame, until the place is filled.
asio::awaitable<void> await_filled(value_place place, move_only_function<void(untyped_completion)>& start);

/**
 * \brief Suspends the coroutine until the completion that `start` is given is called.
 * \details `start(completion<T>)` runs at once; the coroutine resumes on its own executor, never inline.
 */
template <class T, class Start>
asio::awaitable<T> await_completion(Start start) {
    std::optional<T> value;
    value_place const place(value);
    move_only_function<void(untyped_completion)> begin = [&start](untyped_completion done) {
        start(completion<T>(std::move(done)));
    };
    co_await await_filled(place, begin);
    co_return std::move(*value);
}

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/async/impl/await_completion.ipp>
#endif
