#pragma once

#include <ipybox/async/completion.hpp>

#include <asio/async_result.hpp>
#include <asio/awaitable.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <utility>

namespace ipybox::detail {

/**
 * \brief Suspends the coroutine until the completion that `start` is given is called.
 * \details `start(completion<T>)` runs at once; the coroutine resumes on its own executor, never inline.
 */
template <class T, class Start>
asio::awaitable<T> await_completion(Start start) {
    auto const executor = co_await asio::this_coro::executor;
    auto initiation = [&start, executor](auto handler) { start(completion<T>(std::move(handler), executor)); };
    co_return co_await asio::async_initiate<asio::use_awaitable_t<> const, void(T)>(initiation, asio::use_awaitable);
}

} // namespace ipybox::detail
