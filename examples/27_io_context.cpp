// prints: in a handler of the context: would_deadlock
// prints: 3 squares: [0, 1, 4]
// prints: from another thread: 9

#include <ipybox/execution.hpp>
#include <ipybox/executor.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <thread>

namespace {

//! [coroutine]
// Runs on the application's context. Other operations of the application go on during each co_await.
asio::awaitable<void> squares(ipybox::executor& box) {
    auto const result = co_await box.async_execute("print([n * n for n in range(3)])");
    if (result)
        std::cout << "3 squares: " << result->text << '\n';
    else
        std::cerr << result.error() << '\n';
}
//! [coroutine]

asio::awaitable<void> session(ipybox::executor& box) {
    //! [would_deadlock]
    // A blocking call in a handler of the context would wait for the thread that it blocks. It returns an error
    // instead.
    auto const result = box.execute("1");
    if (!result && result.error() == ipybox::errc::would_deadlock)
        std::cout << "in a handler of the context: would_deadlock\n";
    //! [would_deadlock]
    co_await squares(box);
}

} // namespace

int main() {
    //! [context]
    asio::io_context io;
    // All work of the executor is done by the threads that run this context; it makes no thread of its own.
    ipybox::executor box{io.get_executor()};
    asio::co_spawn(io, session(box), [&](std::exception_ptr const&) { io.stop(); });
    io.run(); // does not return by itself while a kernel runs: the executor waits for what it sends
    //! [context]

    //! [other_thread]
    // Blocking calls work while another thread runs the context.
    io.restart();
    std::jthread const serving([&] { io.run(); });
    if (auto const result = box.execute("3 ** 2")) std::cout << "from another thread: " << result->text << '\n';
    io.stop();
    //! [other_thread]
}
