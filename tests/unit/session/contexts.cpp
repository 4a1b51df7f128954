#include <support/catch.hpp>
#include <support/child.hpp>
#include <support/scripted_box.hpp>

#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// The events of a stream up to its end, as text.
std::string read_all(execution_stream& stream) {
    std::string text;
    while (auto const e = stream.next()) {
        if (auto const* chunk = std::get_if<output_chunk>(&*e)) text += chunk->text;
        if (auto const* last = std::get_if<result<execution_result>>(&*e)) text += said(*last);
    }
    return text;
}

asio::awaitable<void> read_in_context(std::shared_ptr<execution_stream> stream, std::shared_ptr<int> frame) {
    for (;;) { // in a condition, GCC 12 destroys what is awaited with an illegal instruction
        auto const event = co_await stream->async_next();
        if (!event) break;
        ++*frame;
    }
}

} // namespace

TEST_CASE_METHOD(scripted_box, "contexts: one that is destroyed at every step takes everything along") {
    // So many handlers run before the context goes. The executor goes before it, or after it.
    for (bool const executor_first : {true, false}) {
        for (int steps = 0; steps < 60; ++steps) {
            script().forget();
            script().expect("a").prints("x").replies();
            script().expect("b").prints("y").waits_for_interrupt().raises("KeyboardInterrupt", "");
            auto context = std::make_unique<asio::io_context>();
            on(context->get_executor());
            auto const frame = std::make_shared<int>(0);
            auto first = begin("a");
            auto second = begin("b");
            auto third = begin("a");
            auto stream = (*this)->stream("a");
            auto const owned = std::make_shared<execution_stream>((*this)->stream("a"));
            asio::co_spawn(*context, read_in_context(owned, frame), asio::detached);
            auto stopped = steps % 3 == 0 ? (*this)->async_stop(asio::use_future) : std::future<result<void>>();
            for (int i = 0; i < steps; ++i) context->poll_one();
            if (executor_first) drop();
            context.reset();
            CHECK(frame.use_count() == 1);
            // Every call has completed, though nothing runs any more.
            for (auto* each : {&first, &second, &third}) (void)got(std::move(*each));
            if (stopped.valid()) (void)got(std::move(stopped));
            CHECK_FALSE(read_all(stream).empty());
            if (executor_first) continue;
            CHECK((*this)->state() == executor::kernel_state::stopped);
            CHECK(said(got(begin("a"))) == not_running);
            CHECK(said((*this)->start()) == not_running);
            CHECK(said((*this)->interrupt()) == not_running);
            auto late = (*this)->stream("a");
            CHECK(read_all(late) == not_running);
            (*this)->cancel();
            drop();
        }
    }
}

TEST_CASE_METHOD(scripted_box,
                 "contexts: an executor that is destroyed completes everything, also where nothing runs its context") {
    asio::io_context context;
    script().expect("loop").prints("x").waits_for_interrupt();
    on(context.get_executor());
    auto running = begin("loop");
    auto waiting = begin("waits");
    auto stream = (*this)->stream("waits too");
    for (int i = 0; i < 1000 && (*this)->state() != executor::kernel_state::busy; ++i) context.run_for(1ms);
    REQUIRE((*this)->state() == executor::kernel_state::busy);
    drop();
    CHECK(said(got(std::move(running))) == not_running);
    CHECK(said(got(std::move(waiting))) == not_running);
    CHECK(read_all(stream) == not_running);
    context.run(); // what is left there ends by itself
}

TEST_CASE_METHOD(scripted_box, "contexts: operations that begin when the executor has gone, or was moved from") {
    auto operation = (*this)->async_execute("1", {}, asio::use_awaitable);
    asio::io_context context;
    drop();
    std::optional<std::string> text;
    auto const wait = [&]() -> asio::awaitable<void> {
        auto outcome = co_await std::move(operation);
        text = said(outcome);
    };
    asio::co_spawn(context, wait(), asio::detached);
    context.run_for(10s);
    CHECK(text == not_running);

    renew();
    script().expect("a").prints("fine").replies();
    auto& box = **this;
    auto& same = box;
    box = std::move(same);
    CHECK(run("a") == "fine");
    auto moved = std::move(box);
    CHECK(said(box.execute("a")) == not_running); // NOLINT(bugprone-use-after-move)
    CHECK(box.execute("a").error().text() == "this executor was moved from: use the one that it was moved to");
    CHECK(box.state() == executor::kernel_state::stopped);
    box.cancel();
    CHECK(said(box.start()) == not_running);
}

namespace {

/// Lives longer than what functions make static. In a fork it moves an executor then, and tells whether that went well.
struct last_of_the_program {
    std::unique_ptr<scripted_box::executor_type> box;

    ~last_of_the_program() {
        if (!box) return;
        auto const moved = std::move(*box);
        ::_exit(said(box->execute("1")) == not_running ? 0 : 1); // NOLINT(bugprone-use-after-move)
    }
};

last_of_the_program at_the_very_end;

} // namespace

TEST_CASE_METHOD(scripted_box, "contexts: static objects may move executors until the end of the program") {
    auto const child = ::fork();
    if (child == 0) {
        at_the_very_end.box = std::make_unique<scripted_box::executor_type>(std::move(**this));
        drop();
        std::exit(2);
    }
    CHECK(end_of(child) == "0");
}

TEST_CASE_METHOD(scripted_box, "contexts: an own thread ends whatever waits on it") {
    script().expect("a").replies();
    CHECK(run("a").empty());
    auto const frame = std::make_shared<int>(0);
    auto const never = [](std::shared_ptr<int>) -> asio::awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
        co_await timer.async_wait(asio::use_awaitable);
    };
    asio::co_spawn((*this)->get_executor(), never(frame), asio::detached);
    auto const began = std::chrono::steady_clock::now();
    drop();
    CHECK(std::chrono::steady_clock::now() - began < 10s);
    CHECK(frame.use_count() == 1);
}

TEST_CASE_METHOD(scripted_box, "contexts: a pool that is destroyed under a busy executor", "[tsan]") {
    for (int round = 0; round < 20; ++round) {
        script().forget();
        script().expect("loop").prints("x").waits_for_interrupt();
        auto pool = std::make_unique<asio::thread_pool>(2);
        on(pool->get_executor());
        auto running = begin("loop");
        if (round % 2 == 0) REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
        pool->stop();
        pool->join();
        pool.reset();
        CHECK(said(got(std::move(running))) == not_running);
        drop();
    }
}

TEST_CASE_METHOD(scripted_box, "contexts: two executors that are destroyed by each other's handlers", "[tsan]") {
    for (int round = 0; round < 10; ++round) {
        scripted_box other;
        auto first = release();
        auto second = other.release();
        auto* const on_first = first.get();
        auto* const on_second = second.get();
        std::atomic<int> there = 0;
        std::atomic<int> gone = 0;
        auto const meet = [&there, &gone](auto box) {
            ++there;
            while (there < 2) std::this_thread::yield();
            box.reset();
            ++gone;
        };
        auto const a = on_first->get_executor();
        auto const b = on_second->get_executor();
        std::promise<void> posted;
        auto const both = posted.get_future().share();
        asio::post(a, [meet, both, box = std::move(second)]() mutable { both.wait(), meet(std::move(box)); });
        asio::post(b, [meet, both, box = std::move(first)]() mutable { both.wait(), meet(std::move(box)); });
        posted.set_value();
        REQUIRE(eventually([&] { return gone == 2; }));
        renew();
    }
}

TEST_CASE_METHOD(scripted_box, "contexts: a transport that needs no supervisor needs no Python either") {
    adapt([](executor_options& o) { o.kernel.python = "/does/not/exist"; });
    script().expect("a").prints("fine").replies();
    CHECK(run("a") == "fine");
}
