#pragma once

#include <ipybox/async/await_completion.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/async/sure_completion.hpp>

#include <asio/awaitable.hpp>
#include <asio/this_coro.hpp>

#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace ipybox::mcp::detail {

/// Waits for several coroutines, which run beside each other.
inline asio::awaitable<void> all_of(std::vector<asio::awaitable<void>> work) {
    if (work.empty()) co_return;
    auto const executor = co_await asio::this_coro::executor;
    auto const begin = [&](ipybox::detail::completion<bool> done) {
        // Completes when the last one has ended, however that came: they may end in several threads, or with their
        // context.
        auto const open = std::make_shared<ipybox::detail::sure_completion<bool>>(std::move(done), true);
        for (auto& one : std::exchange(work, {}))
            ipybox::detail::spawn(executor, std::move(one), [open](std::exception_ptr) {});
    };
    (void)co_await ipybox::detail::await_completion<bool>(begin);
}

} // namespace ipybox::mcp::detail
