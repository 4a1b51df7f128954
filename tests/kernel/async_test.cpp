#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_future.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "support/catch.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

} // namespace

TEST_CASE("completion tokens: future, callback, coroutine", "[kernel]") {
    scratch_dir dir;
    executor box{options_in(dir.path()), {}, unsandboxed};

    CHECK(text_of(box.async_execute("1 + 1", {}, asio::use_future).get()) == "2");

    std::promise<std::string> called;
    box.async_execute("2 + 2", {}, [&](result<execution_result> r) { called.set_value(text_of(r)); });
    CHECK(called.get_future().get() == "4");

    asio::io_context context;
    std::string texts;
    auto const work = [&]() -> asio::awaitable<void> {
        auto const first = co_await box.async_execute("x = 3");
        texts += text_of(first);
        auto const second = co_await box.async_execute("x + 3");
        texts += text_of(second);
        auto stream = box.stream("print('chunk')");
        while (auto event = co_await stream.async_next())
            if (auto* chunk = std::get_if<output_chunk>(&*event)) texts += chunk->text;
        auto const reset = co_await box.async_reset();
        texts += reset ? "reset" : "failed";
    };
    asio::co_spawn(context, work, asio::detached);
    context.run();
    CHECK(texts == "6chunk\nreset");
    REQUIRE(box.async_stop(asio::use_future).get());
}

TEST_CASE("a cancellation slot cancels its own call only", "[kernel]") {
    scratch_dir dir;
    executor box{options_in(dir.path()), {}, unsandboxed};
    asio::io_context context;
    asio::cancellation_signal signal;
    std::string first;
    std::string second;
    box.async_execute(
        "import time\nprint('begun')\ntime.sleep(60)", {},
        asio::bind_cancellation_slot(signal.slot(), [&](result<execution_result> r) { first = text_of(r); }));
    auto waiting = box.async_execute("'mine'", {}, asio::use_future);
    while (box.state() != executor::kernel_state::busy) std::this_thread::yield();
    signal.emit(asio::cancellation_type::terminal);
    CHECK(text_of(waiting.get()) == "'mine'");
    CHECK(first.find("cancelled") != std::string::npos);

    using namespace asio::experimental::awaitable_operators;
    auto const race = [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(context, 200ms);
        auto running = box.async_execute("import time\ntime.sleep(60)");
        auto const outcome = co_await (std::move(running) || timer.async_wait(asio::use_awaitable));
        second = outcome.index() == 1 ? "timer" : "code";
    };
    asio::co_spawn(context, race, asio::detached);
    context.run();
    CHECK(second == "timer");
    CHECK(text_of(box.execute("'usable'")) == "'usable'");
}

TEST_CASE("an executor works on the application's own context", "[kernel]") {
    scratch_dir dir;
    asio::io_context context;
    std::string text;
    {
        executor box{context.get_executor(), options_in(dir.path()), {}, unsandboxed};
        auto const work = [&]() -> asio::awaitable<void> {
            for (int i = 0; i < 3; ++i) {
                auto const r = co_await box.async_execute("print(" + std::to_string(i) + ")");
                text += text_of(r);
            }
            auto const blocked = box.execute("1"); // this very thread would have to serve it
            text += blocked ? "?" : blocked.error().code().message();
            auto stopped = co_await box.async_stop();
            text += stopped ? "!" : "?";
        };
        asio::co_spawn(context, work, asio::detached);
        context.run();
    }
    CHECK(text == "012" + make_error_code(errc::would_deadlock).message() + "!");
}

TEST_CASE("an application's context that nobody runs any more keeps no process alive", "[kernel]") {
    scratch_dir dir;
    asio::io_context context;
    int kernel = 0;
    {
        executor box{context.get_executor(), options_in(dir.path()), {}, unsandboxed};
        auto answer = box.async_execute("import os\nprint(os.getpid())", {}, asio::use_future);
        while (answer.wait_for(0s) != std::future_status::ready) context.run_one();
        kernel = std::stoi(text_of(answer.get()));
        CHECK(::kill(kernel, 0) == 0);
    }
    auto const deadline = std::chrono::steady_clock::now() + 1s;
    while (::kill(kernel, 0) == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    CHECK(::kill(kernel, 0) != 0);
}

TEST_CASE("many executors work side by side on one runtime", "[kernel]") {
    scratch_dir dir;
    runtime const shared{{.working_dir = dir.path(), .kernel = {.python = python()}}, no_sandbox{}};
    static constexpr int count = 50;
    std::vector<std::unique_ptr<executor>> boxes;
    for (int i = 0; i < count; ++i)
        boxes.push_back(std::make_unique<executor>(options_in(dir.path()), any_approval{}, shared));
    std::vector<std::future<result<execution_result>>> answers;
    for (int i = 0; i < count; ++i)
        answers.push_back(boxes[static_cast<std::size_t>(i)]->async_execute("x = " + std::to_string(i) + "\nx * x", {},
                                                                            asio::use_future));
    for (int i = 0; i < count; ++i)
        REQUIRE(text_of(answers[static_cast<std::size_t>(i)].get()) == std::to_string(i * i));
    for (int i = 0; i < count; ++i)
        REQUIRE(text_of(boxes[static_cast<std::size_t>(i)]->execute("x")) == std::to_string(i));
    CHECK(boxes[0]->execute("import os; os._exit(1)").error() == errc::kernel_died);
    CHECK(text_of(boxes[1]->execute("x")) == "1");
}

TEST_CASE("a runtime that cannot start tells every executor why", "[kernel]") {
    scratch_dir dir;
    runtime const shared{{.kernel = {.python = "/no/such/python"}}, no_sandbox{}};
    for (int i = 0; i < 2; ++i) {
        executor box{options_in(dir.path()), {}, shared};
        auto const r = box.start();
        REQUIRE_FALSE(r);
        CHECK(r.error() == errc::python_not_found);
    }
}

TEST_CASE("an executor may be destroyed by one of its own handlers", "[kernel]") {
    scratch_dir dir;
    auto box = std::make_unique<executor>(options_in(dir.path()), any_approval{}, unsandboxed);
    std::promise<void> destroyed;
    box->async_execute("1", {}, [&](result<execution_result> const&) {
        box.reset();
        destroyed.set_value();
    });
    CHECK(destroyed.get_future().wait_for(10s) == std::future_status::ready);
}
