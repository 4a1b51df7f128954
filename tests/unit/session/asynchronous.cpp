#include <support/catch.hpp>
#include <support/scripted_box.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// Makes an executor on a context that the test runs.
struct on_context : scripted_box {
    asio::io_context context;

    on_context() { on(context.get_executor()); }
    ~on_context() {
        drop();
        context.restart();
        context.run_for(30s);
    }

    /// Runs the context until something is so: while there is a kernel, it has work.
    template <class Condition>
    bool run_until(Condition condition) {
        context.restart();
        auto const deadline = std::chrono::steady_clock::now() + 30s;
        while (!condition() && std::chrono::steady_clock::now() < deadline) context.run_one_until(deadline);
        return condition();
    }

    auto put(std::string& into) {
        return [&into](result<execution_result> const& r) { into += said(r); };
    }
};

} // namespace

TEST_CASE_METHOD(scripted_box, "session: completion tokens") {
    script().expect("future").prints("1").replies();
    script().expect("callback").prints("2").replies();
    script().expect("coroutine").prints("3").replies();
    script().expect("deferred").prints("4").replies();
    CHECK(said(got(begin("future"))) == "1");

    std::promise<std::string> called;
    (*this)->async_execute("callback", {}, [&](result<execution_result> const& r) { called.set_value(said(r)); });
    CHECK(got(called.get_future()) == "2");

    asio::io_context context;
    std::string text;
    auto const work = [&]() -> asio::awaitable<void> {
        auto const r = co_await (*this)->async_execute("coroutine");
        text = said(r);
        auto const stopped = co_await (*this)->async_stop();
        text += said(stopped);
        auto const started = co_await (*this)->async_start();
        text += said(started);
        auto const reset = co_await (*this)->async_reset();
        text += said(reset);
        auto const interrupted = co_await (*this)->async_interrupt();
        text += said(interrupted);
    };
    asio::co_spawn(context, work(), asio::detached);
    context.run();
    CHECK(text == "3okokokok");

    auto later = (*this)->async_execute("deferred", {}, asio::experimental::deferred);
    CHECK(said(got(std::move(later)(asio::use_future))) == "4");
}

TEST_CASE_METHOD(scripted_box, "session: a completion token may follow the code, without options") {
    script().expect("future").prints("1").replies();
    script().expect("callback").prints("2").replies();
    script().expect("options").prints("3").replies();
    CHECK(said(got((*this)->async_execute("future", asio::use_future))) == "1");

    std::promise<std::string> called;
    (*this)->async_execute("callback", [&](result<execution_result> const& r) { called.set_value(said(r)); });
    CHECK(got(called.get_future()) == "2");

    // braces alone are still options
    static_assert(std::is_same_v<decltype((*this)->async_execute("", {})), decltype((*this)->async_execute(""))>);
    auto const patient = execute_options{.timeout = 30s};
    CHECK(said(got((*this)->async_execute("options", patient, asio::use_future))) == "3");
}

TEST_CASE_METHOD(on_context, "session: completions are never inline, and come on the handler's executor") {
    script().expect("a").prints("fine").replies();
    asio::io_context other;
    auto const strand = asio::make_strand(other);
    bool there = false;
    (*this)->async_execute("a", {}, asio::bind_executor(strand, [&](result<execution_result> const&) {
                               there = strand.running_in_this_thread();
                           }));
    CHECK(run_until([&] {
        other.poll();
        return there;
    }));
    CHECK(other.stopped()); // it had work until the call completed
}

TEST_CASE_METHOD(on_context, "session: the application's context runs dry when there is no kernel") {
    CHECK(context.run() == 0);
    context.restart();
    script().expect("a").prints("fine").replies();
    std::string text;
    (*this)->async_execute("a", {}, put(text));
    CHECK(run_until([&] { return text == "fine"; }));
    (*this)->async_stop([](result<void> const&) {});
    context.restart();
    context.run_for(30s);
    CHECK(context.stopped());
}

TEST_CASE_METHOD(on_context, "session: an exception out of a handler comes out of run, and nothing is lost") {
    script().expect("a").replies();
    script().expect("b").prints("fine").replies();
    (*this)->async_execute("a", {}, [](result<execution_result> const&) { throw std::runtime_error("application"); });
    std::string text;
    (*this)->async_execute("b", {}, put(text));
    CHECK_THROWS_AS(run_until([] { return false; }), std::runtime_error);
    CHECK(run_until([&] { return text == "fine"; }));
}

TEST_CASE_METHOD(scripted_box, "session: a cancellation slot ends its own call") {
    script().expect("loop").prints("x").waits_for_interrupt().raises("KeyboardInterrupt", "");
    script().expect("other").prints("fine").replies();
    asio::cancellation_signal running;
    asio::cancellation_signal waiting;
    asio::cancellation_signal finished;
    std::promise<std::string> first;
    std::promise<std::string> second;
    (*this)->async_execute("loop", {},
                           asio::bind_cancellation_slot(
                               running.slot(), [&](result<execution_result> const& r) { first.set_value(said(r)); }));
    (*this)->async_execute("never", {},
                           asio::bind_cancellation_slot(
                               waiting.slot(), [&](result<execution_result> const& r) { second.set_value(said(r)); }));
    auto other = begin("other");
    waiting.emit(asio::cancellation_type::total);
    CHECK(got(second.get_future()) == cancelled); // although another one runs
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    running.emit(asio::cancellation_type::terminal);
    running.emit(asio::cancellation_type::terminal);
    CHECK(got(first.get_future()) == cancelled);
    CHECK(said(got(std::move(other))) == "fine");

    running.emit(asio::cancellation_type::terminal); // it is over
    script().expect("after").prints("fine").replies();
    CHECK(run("after") == "fine");
    drop();
    waiting.emit(asio::cancellation_type::terminal); // and so is everything
}

TEST_CASE_METHOD(scripted_box, "session: blocking calls from its own thread would wait for ever") {
    std::promise<std::vector<std::string>> all;
    (*this)->async_start([&](result<void> const&) {
        std::vector<std::string> texts;
        texts.push_back(said((*this)->execute("a")));
        texts.push_back(said((*this)->start()));
        texts.push_back(said((*this)->stop()));
        texts.push_back(said((*this)->reset()));
        texts.push_back(said((*this)->interrupt()));
        auto stream = (*this)->stream("loop");
        auto const event = stream.next();
        auto const* end = event ? std::get_if<result<execution_result>>(&*event) : nullptr;
        texts.push_back(end ? said(*end) : "an event");
        all.set_value(std::move(texts));
    });
    CHECK(got(all.get_future()) ==
          std::vector<std::string>(6, "<a blocking call was made from the thread that would have to serve it; call the "
                                      "async_ operation, or block on another thread>"));
}

TEST_CASE_METHOD(on_context, "session: blocking calls from a thread that runs the application's context, too") {
    std::string text;
    asio::post(context, [&] { text = said((*this)->execute("a")); });
    context.run_for(30s);
    CHECK(text == "<a blocking call was made from the thread that would have to serve it; call the async_ operation, "
                  "or block on another thread>");
}

TEST_CASE_METHOD(on_context, "session: a blocking call between two polls of the context says what to do") {
    context.poll();
    auto const began = std::chrono::steady_clock::now();
    auto const r = (*this)->execute("a");
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::would_deadlock);
    CHECK(r.error().text().starts_with("no thread runs the executor's I/O context: run it on another thread"));
    CHECK(std::chrono::steady_clock::now() - began < 15s);
    script().expect("a").prints("not lost").replies(); // what was refused was not begun
    std::string text;
    (*this)->async_execute("a", {}, put(text));
    CHECK(run_until([&] { return !text.empty(); }));
    CHECK(text == "not lost");
}

TEST_CASE_METHOD(on_context, "session: blocking calls while another thread runs the context", "[tsan]") {
    script().expect("a").prints("fine").replies();
    auto work = asio::make_work_guard(context);
    std::thread runner([&] { context.run(); });
    CHECK(run("a") == "fine");
    CHECK((*this)->stop());
    work.reset();
    runner.join();
}

TEST_CASE_METHOD(on_context, "session: several threads run the application's context", "[tsan]") {
    for (int i = 0; i < 50; ++i) script().expect(std::to_string(i)).prints(std::to_string(i)).replies();
    auto work = asio::make_work_guard(context);
    std::vector<std::thread> runners;
    for (int i = 0; i < 4; ++i) runners.emplace_back([&] { context.run(); });
    std::vector<std::future<result<execution_result>>> calls;
    for (int i = 0; i < 50; ++i) calls.push_back(begin(std::to_string(i)));
    for (std::size_t i = 0; i < 50; ++i) CHECK(said(got(std::move(calls[i]))) == std::to_string(i));
    CHECK((*this)->stop());
    work.reset();
    for (auto& r : runners) r.join();
}

TEST_CASE("session: a context that is never run again once the executor is gone") {
    auto const token = std::make_shared<int>();
    for (int steps = 0; steps < 12; ++steps) {
        scripted_box box;
        box.script().expect("loop").prints("x").waits_for_interrupt();
        {
            asio::io_context context;
            box.on(context.get_executor());
            box->async_execute("loop", {}, [token](result<execution_result> const&) {});
            box->async_execute("waits", {}, [token](result<execution_result> const&) {});
            auto const stream = box->stream("waits too");
            for (int i = 0; i < steps; ++i) context.poll_one();
            box.drop();
        }
        CHECK(token.use_count() == 1); // the handlers went with the context
    }
}

TEST_CASE("session: the context runs on after the executor is gone") {
    asio::io_context context;
    std::string text;
    for (int steps = 0; steps < 12; ++steps) {
        scripted_box box;
        box.script().expect("loop").prints("x").waits_for_interrupt();
        box.on(context.get_executor());
        text.clear();
        box->async_execute("loop", {}, [&](result<execution_result> const& r) { text += said(r); });
        box->async_execute("waits", {}, [&](result<execution_result> const& r) { text += said(r); });
        for (int i = 0; i < steps; ++i) context.poll_one();
        box.drop();
        context.restart();
        context.run_for(30s);
        CHECK(text == not_running + not_running);
        CHECK(context.stopped());
        context.restart();
    }
}

TEST_CASE_METHOD(scripted_box, "session: destroyed by one of its own handlers", "[tsan]") {
    for (int i = 0; i < 10; ++i) {
        renew();
        script().expect("a").replies();
        auto last = std::shared_ptr<executor_type>(release());
        std::promise<bool> gone;
        auto& box = *last;
        box.async_execute("a", {}, [&gone, last = std::move(last)](result<execution_result> const& r) mutable {
            bool const good = r.has_value();
            last.reset();
            gone.set_value(good);
        });
        CHECK(got(gone.get_future()));
    }
}
