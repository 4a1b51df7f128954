// prints: alice counts to 1000000: 500000500000
// prints: bob has his own names: NameError

#include <ipybox/execution.hpp>
#include <ipybox/executor.hpp>
#include <ipybox/runtime.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <iostream>

//! [coroutine]
// Without another completion token operations are awaited. They return results and throw nothing.
asio::awaitable<void> count(ipybox::executor& alice) {
    auto result = co_await alice.async_execute("total = sum(range(1, 1_000_001)); print(total)");
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

asio::awaitable<void> both(ipybox::executor& alice, ipybox::executor& bob, bool& done) {
    if (auto started = co_await alice.async_start(); !started) {
        std::cerr << started.error() << '\n';
        co_return;
    }
    co_await count(alice);
    co_await look(bob);
    done = true;
}

int main() {
    //! [shared]
    // One sandbox and one preloaded interpreter for both: the second kernel is forked within milliseconds and shares its memory.
    // What they do runs on the application's own context; the library adds no thread for them.
    asio::io_context io;
    ipybox::runtime shared;
    ipybox::executor alice(io.get_executor(), {}, {}, shared);
    ipybox::executor bob(io.get_executor(), {}, {}, shared);
    //! [shared]

    auto done = false;
    asio::co_spawn(io, both(alice, bob, done), asio::detached);
    io.run();
    return done ? 0 : 1;
}
