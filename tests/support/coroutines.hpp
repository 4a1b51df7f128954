#pragma once

#include <ipybox/core/config.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

/** \file
 * Runs coroutines in a test.
 */

namespace ipybox::test {

/// Runs a coroutine on a context that nobody else runs, and gives its value. Throws when it takes longer than the
/// bound.
template <class T>
T run(asio::io_context& context, asio::awaitable<T> work, std::chrono::milliseconds bound = std::chrono::seconds(60)) {
    std::optional<T> value;
    std::exception_ptr thrown;
    asio::co_spawn(context, std::move(work), [&](std::exception_ptr e, T v) {
        thrown = e;
        value.emplace(std::move(v));
    });
    context.restart();
    auto const deadline = std::chrono::steady_clock::now() + bound;
    while (!value && std::chrono::steady_clock::now() < deadline) context.run_one_until(deadline);
    if (thrown) std::rethrow_exception(thrown);
    if (!value) throw std::runtime_error("a coroutine did not end within its bound");
    return std::move(*value);
}

inline void run(asio::io_context& context, asio::awaitable<void> work,
                std::chrono::milliseconds bound = std::chrono::seconds(60)) {
    auto const to_value = [](asio::awaitable<void> w) -> asio::awaitable<bool> {
        co_await std::move(w);
        co_return true;
    };
    run<bool>(context, to_value(std::move(work)), bound);
}

} // namespace ipybox::test
