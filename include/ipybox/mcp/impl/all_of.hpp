#pragma once

#include <ipybox/async/await_completion.hpp>
#include <ipybox/async/spawn.hpp>

#include <asio/awaitable.hpp>
#include <asio/this_coro.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace ipybox::mcp::detail {

/// Completes when the last of several has. They may end in several threads.
struct countdown {
    std::atomic<std::size_t> left;
    ipybox::detail::completion<bool> done;

    countdown(std::size_t count, ipybox::detail::completion<bool> d) : left(count), done(std::move(d)) {}

    void one_less() {
        if (--left == 0) done(true);
    }
};

/// Waits for several coroutines, which run beside each other.
inline asio::awaitable<void> all_of(std::vector<asio::awaitable<void>> work) {
    if (work.empty()) co_return;
    auto const executor = co_await asio::this_coro::executor;
    auto const begin = [&](ipybox::detail::completion<bool> done) {
        auto const open = std::make_shared<countdown>(work.size(), std::move(done));
        for (auto& one : std::exchange(work, {}))
            ipybox::detail::spawn(executor, std::move(one), [open](std::exception_ptr) { open->one_less(); });
    };
    (void)co_await ipybox::detail::await_completion<bool>(begin);
}

} // namespace ipybox::mcp::detail
