// prints: alice counts to 1000000: 500000500000
// prints: bob has his own names: NameError

#include <ipybox/execution.hpp>
#include <ipybox/executor.hpp>
#include <ipybox/runtime.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <iostream>

//! [coroutine]
// Without another completion token operations are awaited. They return results and throw nothing.
asio::awaitable<void> count(ipybox::executor& alice) {
    // Options get a name: a braced temporary inside a co_await expression is destroyed twice by GCC 12.
    ipybox::execute_options const patient{.timeout = std::chrono::seconds(20)};
    auto result = co_await alice.async_execute("total = sum(range(1, 1_000_001)); print(total)", patient);
    if (result)
        std::cout << "alice counts to 1000000: " << result->text << '\n';
    else
        std::cerr << result.error() << '\n';
}

asio::awaitable<void> look(ipybox::executor& bob) {
    auto result = co_await bob.async_execute("print(total)");
    if (!result && result.error().exception())
        std::cout << "bob has his own names: " << result.error().exception()->ename << '\n';
}
//! [coroutine]

//! [shared]
asio::awaitable<void> both(bool& done) {
    // What the executors do runs on the application's own context. They end with this coroutine, and `run` returns.
    auto const io = co_await asio::this_coro::executor;

    // One sandbox and one preloaded interpreter for both: the second kernel is forked within milliseconds and shares
    // its memory.
    ipybox::runtime shared;
    ipybox::executor alice(io, {}, {}, shared);
    ipybox::executor bob(io, {}, {}, shared);

    if (auto started = co_await alice.async_start(); !started) {
        std::cerr << started.error() << '\n';
        co_return;
    }
    co_await count(alice);
    co_await look(bob);
    done = true;
}
//! [shared]

int main() {
    asio::io_context io;
    auto done = false;
    asio::co_spawn(io, both(done), asio::detached);
    io.run();
    return done ? 0 : 1;
}
