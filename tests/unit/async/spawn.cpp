#include <ipybox/async/spawn.hpp>

#include <support/catch.hpp>

#include <asio/cancellation_signal.hpp>
#include <asio/io_context.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using namespace ipybox::detail;

asio::awaitable<std::string> text_of_number(int number) {
    if (number < 0) throw std::invalid_argument("below zero");
    co_return std::to_string(number);
}

/// Waits until it is cancelled.
asio::awaitable<bool> waits_until_cancelled() {
    asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    asio::error_code ended;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    co_return ended == asio::error::operation_aborted;
}

} // namespace

TEST_CASE("spawn: a value, and an exception") {
    asio::io_context context;
    std::string told;
    auto const ended = [&told](std::exception_ptr thrown, std::string const& value) {
        told += (thrown ? "thrown " : "value ") + value + ";";
    };
    spawn(context.get_executor(), text_of_number(4), ended);
    spawn(context.get_executor(), text_of_number(-1), ended);
    CHECK(told.empty());
    context.run();
    CHECK(told == "value 4;thrown ;");
}

TEST_CASE("spawn: the function that hears of the end need not be copyable") {
    asio::io_context context;
    int sum = 0;
    auto ended = [&sum, own = std::make_unique<int>(1)](std::exception_ptr, std::string const& value) {
        sum = *own + std::stoi(value);
    };
    spawn(context.get_executor(), text_of_number(41), std::move(ended));
    auto const nothing = []() -> asio::awaitable<void> { co_return; };
    spawn(context.get_executor(), nothing(),
          [&sum, own = std::make_unique<int>(100)](std::exception_ptr) { sum += *own; });
    context.run();
    CHECK(sum == 142);
}

TEST_CASE("spawn: nothing hears of an exception") {
    asio::io_context context;
    auto const fail = []() -> asio::awaitable<void> {
        throw std::runtime_error("thrown");
        co_return;
    };
    spawn(context.get_executor(), fail());
    CHECK_NOTHROW(context.run());
}

TEST_CASE("spawn: a cancellation reaches the coroutine") {
    asio::io_context context;
    asio::cancellation_signal signal;
    bool cancelled = false;
    auto const ended = [&cancelled](std::exception_ptr, bool value) { cancelled = value; };
    spawn(context.get_executor(), waits_until_cancelled(), ended, signal.slot());
    context.poll();
    signal.emit(asio::cancellation_type::terminal);
    context.run();
    CHECK(cancelled);
}

TEST_CASE("spawn: the context goes before the coroutine ends") {
    auto const token = std::make_shared<int>();
    bool called = false;
    {
        asio::io_context context;
        auto const ended = [token, &called](std::exception_ptr, bool) { called = true; };
        spawn(context.get_executor(), waits_until_cancelled(), ended);
        context.poll();
        CHECK(token.use_count() == 3);
    }
    CHECK(token.use_count() == 1);
    CHECK_FALSE(called);
}

TEST_CASE("spawn: an exception of the function that hears of the end leaves run") {
    asio::io_context context;
    auto const ended = [](std::exception_ptr, std::string const&) { throw std::runtime_error("thrown"); };
    spawn(context.get_executor(), text_of_number(1), ended);
    CHECK_THROWS_WITH(context.run(), "thrown");
}
