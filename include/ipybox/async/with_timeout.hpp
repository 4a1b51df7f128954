#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/core/time_budget.hpp>

#include <asio/awaitable.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace ipybox::detail {

/**
 * \brief Waits for an operation, but no longer than a bound: none when it passed first.
 * \details The operation is not cancelled then; it goes on by itself and its value is dropped. So it must own what it
 * uses.
 */
template <class T>
asio::awaitable<std::optional<T>> with_timeout(asio::awaitable<T> operation, std::chrono::milliseconds bound) {
    struct race {
        explicit race(asio::any_io_executor const& executor, std::chrono::milliseconds limit)
            : timer(executor, clamped(limit)) {}
        asio::steady_timer timer;
        std::optional<T> value;
        std::exception_ptr failure;
    };
    auto const executor = co_await asio::this_coro::executor;
    auto const shared = std::make_shared<race>(executor, bound);
    auto const finished = [shared](std::exception_ptr failure, T value) {
        shared->failure = failure;
        if (!failure) shared->value.emplace(std::move(value));
        shared->timer.cancel();
    };
    spawn(executor, std::move(operation), finished);
    asio::error_code ended;
    co_await shared->timer.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    if (shared->failure) std::rethrow_exception(shared->failure);
    co_return std::move(shared->value);
}

} // namespace ipybox::detail
