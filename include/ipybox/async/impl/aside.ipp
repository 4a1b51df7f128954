#pragma once

#include <ipybox/async/aside.hpp>
#include <ipybox/async/await_completion.hpp>

#include <system_error>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL void begin_in_thread(side_threads& threads, move_only_function<void()> work) {
    try {
        threads.begin(std::move(work));
    } catch (std::system_error const&) { work(); }
}

IPYBOX_DECL asio::awaitable<void> done_aside(side_threads& threads, move_only_function<void()> work) {
    auto const begin = [&](completion<std::exception_ptr> done) {
        begin_in_thread(threads, [work = std::move(work), done = std::move(done)]() mutable {
            std::exception_ptr thrown;
            try {
                work();
            } catch (...) { thrown = std::current_exception(); }
            done(std::move(thrown)); // so that this thread does not end it while the coroutine reads it
        });
    };
    auto const thrown = co_await await_completion<std::exception_ptr>(begin);
    if (thrown) std::rethrow_exception(thrown);
}

} // namespace ipybox::detail
