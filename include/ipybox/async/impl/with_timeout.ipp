#pragma once

#include <ipybox/async/with_timeout.hpp>
#include <ipybox/core/time_budget.hpp>

#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <exception>
#include <memory>

namespace ipybox::detail {

IPYBOX_DECL asio::awaitable<void> end_within(asio::awaitable<void> operation, std::chrono::milliseconds bound) {
    struct race {
        explicit race(asio::any_io_executor const& executor, std::chrono::milliseconds limit)
            : timer(executor, clamped(limit)) {}
        asio::steady_timer timer;
        std::exception_ptr failure;
    };
    auto const executor = co_await asio::this_coro::executor;
    auto const shared = std::make_shared<race>(executor, bound);
    auto const finished = [shared](std::exception_ptr failure) {
        shared->failure = failure;
        shared->timer.cancel();
    };
    spawn(executor, std::move(operation), finished);
    asio::error_code ended;
    co_await shared->timer.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    if (shared->failure) std::rethrow_exception(shared->failure);
}

} // namespace ipybox::detail
