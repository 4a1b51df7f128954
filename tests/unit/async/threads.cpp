#include <ipybox/async/home.hpp>
#include <ipybox/async/io_thread.hpp>
#include <ipybox/async/rendezvous.hpp>
#include <ipybox/async/suspend.hpp>

#include <support/catch.hpp>
#include <support/transport_driver.hpp>

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/thread_pool.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace ipybox::detail;
using ipybox::test::run;

bool asked_on(asio::any_io_executor const& executor, std::function<bool()> const& question) {
    std::promise<bool> answer;
    asio::post(executor, [&] { answer.set_value(question()); });
    return answer.get_future().get();
}

} // namespace

TEST_CASE("rendezvous: brings a value over, before or after somebody waits", "[tsan]") {
    rendezvous<std::string> early;
    early.bring("there");
    CHECK(early.wait() == "there");
    for (int i = 0; i < 500; ++i) {
        // It is gone as soon as the value was seen.
        auto meeting = std::make_unique<rendezvous<std::unique_ptr<int>>>();
        std::thread other([&place = *meeting, i] { place.bring(std::make_unique<int>(i)); });
        auto const value = meeting->wait();
        meeting.reset();
        other.join();
        REQUIRE(*value == i);
    }
}

TEST_CASE("io_thread: runs what is posted, and to the end what is under way", "[tsan]") {
    std::atomic<int> ran = 0;
    std::thread::id where;
    {
        io_thread thread;
        asio::post(thread.get_executor(), [&] { where = std::this_thread::get_id(); });
        for (int i = 0; i < 100; ++i) asio::post(thread.get_executor(), [&] { ++ran; });
        asio::post(thread.get_executor(),
                   [&, executor = thread.get_executor()] { asio::post(executor, [&] { ++ran; }); });
    }
    CHECK(ran == 101);
    CHECK(where != std::this_thread::get_id());
    CHECK(where != std::thread::id());

    io_thread twice;
    twice.join();
    twice.join();
}

TEST_CASE("io_thread: let go by what it runs, it runs that and the rest to the end", "[tsan]") {
    for (int i = 0; i < 20; ++i) {
        auto own = std::make_unique<io_thread>();
        auto const executor = own->get_executor();
        std::promise<void> posted; // a context must not go before `post` has returned
        std::promise<bool> rest;
        asio::post(executor, [&, executor, own = std::move(own)]() mutable {
            posted.get_future().wait();
            own.reset();
            asio::post(executor, [&, executor] { rest.set_value(executor.running_in_this_thread()); });
        });
        posted.set_value();
        CHECK(rest.get_future().get());
    }
}

TEST_CASE("home: a thread of its own knows itself", "[tsan]") {
    auto const home = own_home();
    REQUIRE(home.thread);
    CHECK_FALSE(home.is_here());
    CHECK(asked_on(home.executor, home.is_here));
}

TEST_CASE("home: on the application's context, every thread that runs it would be blocked", "[tsan]") {
    asio::io_context context;
    auto const work = asio::make_work_guard(context);
    auto const home = home_on(context.get_executor());
    CHECK_FALSE(home.thread);
    CHECK_FALSE(home.is_here());
    std::thread runner([&] { context.run(); });
    CHECK(asked_on(home.executor, home.is_here));
    CHECK(asked_on(context.get_executor(), home.is_here)); // not on the strand, but on its only thread
    context.stop();
    runner.join();
}

TEST_CASE("home: of other executors the strand is known", "[tsan]") {
    asio::thread_pool pool(2);
    auto const home = home_on(pool.get_executor());
    CHECK_FALSE(home.is_here());
    CHECK(asked_on(home.executor, home.is_here));
    CHECK_FALSE(asked_on(pool.get_executor(), home.is_here)); // another thread of the pool can serve
    pool.join();
}

TEST_CASE("home: one strand, one handler at a time", "[tsan]") {
    asio::thread_pool pool(4);
    auto const home = home_on(pool.get_executor());
    int count = 0; // not atomic on purpose
    for (int i = 0; i < 1000; ++i) asio::post(home.executor, [&] { ++count; });
    pool.join();
    CHECK(count == 1000);
}

TEST_CASE("suspend: until somebody completes, from whatever thread", "[tsan]") {
    asio::io_context context;
    std::thread other;
    auto const whole = [&]() -> asio::awaitable<std::string> {
        auto const here = std::this_thread::get_id();
        auto pending = suspend<std::string>([&](completion<std::string> done) {
            other = std::thread([done = std::move(done)]() mutable { done("from there"); });
        });
        auto text = co_await std::move(pending);
        if (std::this_thread::get_id() != here) text = "on the wrong thread";
        co_return text;
    };
    CHECK(run(context, whole()) == "from there");
    other.join();
}

TEST_CASE("suspend: completed before it suspends, it goes on all the same") {
    asio::io_context context;
    std::string order;
    auto const whole = [&]() -> asio::awaitable<bool> {
        auto pending = suspend<std::unique_ptr<int>>([&](completion<std::unique_ptr<int>> done) {
            done(std::make_unique<int>(7));
            asio::post(context, [&] { order += "behind "; });
        });
        auto const value = co_await std::move(pending);
        order += std::to_string(*value);
        co_return true;
    };
    CHECK(run(context, whole()));
    CHECK((order == "7" || order == "7behind " || order == "behind 7"));
}
