#include <ipybox/async/await_completion.hpp>
#include <ipybox/async/io_thread.hpp>
#include <ipybox/async/serial_context.hpp>
#include <ipybox/async/stack_promise.hpp>

#include <support/catch.hpp>
#include <support/child.hpp>
#include <support/eventually.hpp>
#include <support/signal_mask.hpp>
#include <support/transport_driver.hpp>

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;
using namespace ipybox::detail;
using ipybox::test::run;
using ipybox::test::takes_own_signals_alone;

std::string const would_deadlock = "a blocking call was made from the thread that would have to serve it; call the "
                                   "async_ operation, or block on another thread";

/// What a question that is asked on an executor refuses with; empty where it does not.
std::string refused_on(asio::any_io_executor const& executor, std::function<ipybox::result<void>()> const& question) {
    std::promise<std::string> answer;
    asio::post(executor, [&] {
        auto const served = question();
        answer.set_value(served ? "" : served.error().text());
    });
    return answer.get_future().get();
}

} // namespace

TEST_CASE("stack_promise: brings a value over, before or after somebody waits", "[tsan]") {
    stack_promise<std::string> early;
    early.set_value("there");
    CHECK(early.get() == "there");
    for (int i = 0; i < 500; ++i) {
        // It is gone as soon as the value was seen.
        auto promise = std::make_unique<stack_promise<std::unique_ptr<int>>>();
        std::thread other([&place = *promise, i] { place.set_value(std::make_unique<int>(i)); });
        auto const value = promise->get();
        promise.reset();
        other.join();
        REQUIRE(*value == i);
    }
}

TEST_CASE("io_thread: runs what was posted until its end, and what waits is destroyed", "[tsan]") {
    std::atomic<int> ran = 0;
    std::thread::id where;
    std::weak_ptr<asio::steady_timer> weak;
    {
        io_thread thread;
        asio::post(thread.get_executor(), [&] { where = std::this_thread::get_id(); });
        for (int i = 0; i < 100; ++i) asio::post(thread.get_executor(), [&] { ++ran; });
        auto const never = std::make_shared<asio::steady_timer>(thread.get_executor(), std::chrono::hours(1));
        never->async_wait([&, never](asio::error_code) { ++ran; });
        weak = never;
    }
    CHECK(ran == 100);
    CHECK(weak.expired());
    CHECK(where != std::this_thread::get_id());
    CHECK(where != std::thread::id());

    io_thread twice;
    twice.stop();
    CHECK(twice.join());
    CHECK(twice.join());
}

TEST_CASE("io_thread: takes no signals but those of its own instructions", "[tsan]") {
    sigset_t before;
    sigset_t after;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
    std::promise<bool> answer;
    io_thread thread;
    asio::post(thread.get_executor(), [&] { answer.set_value(takes_own_signals_alone()); });
    CHECK(answer.get_future().get());
    ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
    for (int number = 1; number < NSIG; ++number) {
        if (::sigismember(&before, number) != ::sigismember(&after, number)) FAIL("changed: " << number);
    }
}

TEST_CASE("io_thread: let go by what it runs, it runs what was posted before and ends", "[tsan]") {
    for (int i = 0; i < 20; ++i) {
        auto own = std::make_unique<io_thread>();
        auto const executor = own->get_executor();
        std::promise<void> posted; // a context must not go before `post` has returned
        std::promise<bool> rest;
        asio::post(executor, [&, executor, own = std::move(own)]() mutable {
            posted.get_future().wait();
            asio::post(executor, [&, executor] { rest.set_value(executor.running_in_this_thread()); });
            own.reset();
        });
        posted.set_value();
        CHECK(rest.get_future().get());
    }
}

TEST_CASE("io_thread: two that let go of each other wait for neither", "[tsan]") {
    for (int i = 0; i < 20; ++i) {
        auto first = std::make_unique<io_thread>();
        auto second = std::make_unique<io_thread>();
        auto const on_first = first->get_executor();
        auto const on_second = second->get_executor();
        std::atomic<int> there = 0;
        std::atomic<int> gone = 0;
        std::promise<void> posted;
        auto const both = posted.get_future().share();
        auto const let_go = [&there, &gone, both](std::unique_ptr<io_thread> other) {
            both.wait();
            ++there;
            while (there < 2) std::this_thread::yield();
            other.reset();
            ++gone;
        };
        asio::post(on_first, [let_go, other = std::move(second)]() mutable { let_go(std::move(other)); });
        asio::post(on_second, [let_go, other = std::move(first)]() mutable { let_go(std::move(other)); });
        posted.set_value();
        REQUIRE(ipybox::test::eventually([&] { return gone == 2; }));
    }
}

TEST_CASE("io_thread: a fork neither ends the thread nor waits for it") {
    auto own = std::make_unique<io_thread>();
    std::atomic<int> ran = 0;
    auto later = std::make_unique<asio::steady_timer>(own->get_executor(), 300ms);
    later->async_wait([&](asio::error_code) { ++ran; });
    pid_t const forked = ::fork();
    if (forked == 0) {
        own->stop();
        bool const joined = own->join();
        own.reset();
        ::_exit(joined ? 0 : 1);
    }
    CHECK(ipybox::test::end_of(forked) == "0");
    CHECK(ipybox::test::eventually([&] { return ran == 1; }));
    asio::post(own->get_executor(), [&] { ++ran; });
    later.reset();
    own.reset();
    CHECK(ran == 2);
}

TEST_CASE("io_thread: the end of a fork waits for no thread that its parent has left") {
    // One that was let go by itself goes on while the process forks.
    auto own = std::make_unique<io_thread>();
    auto const executor = own->get_executor();
    std::promise<void> left;
    std::promise<void> ended;
    std::promise<void> posted;
    asio::post(executor, [&, own = std::move(own)]() mutable {
        posted.get_future().wait();
        own.reset();
        left.set_value();
        ended.get_future().wait();
    });
    posted.set_value();
    left.get_future().wait();
    pid_t const forked = ::fork();
    if (forked == 0) {
        auto const began = std::chrono::steady_clock::now();
        thread_reaper::wait_for_left();
        ::_exit(std::chrono::steady_clock::now() - began < 1s ? 0 : 1);
    }
    CHECK(ipybox::test::end_of(forked) == "0");
    ended.set_value();
    thread_reaper::wait_for_left();
}

TEST_CASE("serial_context: a thread of its own knows itself", "[tsan]") {
    auto const made = serial_context::on_own_thread();
    REQUIRE(made.thread);
    CHECK(made.may_block());
    CHECK(refused_on(made.executor, made.may_block) == would_deadlock);
}

TEST_CASE("serial_context: on the application's context, every thread that runs it would be blocked", "[tsan]") {
    asio::io_context context;
    auto const work = asio::make_work_guard(context);
    auto const made = serial_context::on_strand_of(context.get_executor());
    CHECK_FALSE(made.thread);
    std::thread runner([&] { context.run(); });
    CHECK(made.may_block());
    CHECK(refused_on(made.executor, made.may_block) == would_deadlock);
    CHECK(refused_on(context.get_executor(), made.may_block) ==
          would_deadlock); // not on the strand, but on its only thread
    context.stop();
    runner.join();
}

TEST_CASE("serial_context: a pool with another thread serves, one whose threads all wait does not", "[tsan]") {
    asio::thread_pool pair(2);
    auto const served = serial_context::on_strand_of(pair.get_executor());
    CHECK(served.may_block());
    CHECK(refused_on(served.executor, served.may_block) == would_deadlock);
    CHECK(refused_on(pair.get_executor(), served.may_block) == "");

    asio::thread_pool single(1);
    auto const alone = serial_context::on_strand_of(single.get_executor());
    CHECK(alone.may_block());
    CHECK(refused_on(single.get_executor(), alone.may_block) == would_deadlock);
}

TEST_CASE("serial_context: strands and executors that track work are known by what they run", "[tsan]") {
    asio::io_context context;
    auto const work = asio::make_work_guard(context);
    auto const tracked = asio::require(context.get_executor(), asio::execution::outstanding_work.tracked);
    auto const strand = asio::make_strand(context);
    auto const strand_of_any = asio::make_strand(asio::any_io_executor(strand));
    auto const low = asio::prefer(tracked, asio::execution::relationship.continuation);
    std::thread runner([&] { context.run(); });
    for (asio::any_io_executor const& each : {asio::any_io_executor(tracked), asio::any_io_executor(strand),
                                              asio::any_io_executor(strand_of_any), asio::any_io_executor(low)}) {
        auto const made = serial_context::on_strand_of(each);
        CHECK(made.may_block());
        CHECK(refused_on(context.get_executor(), made.may_block) == would_deadlock);
        CHECK(refused_on(each, made.may_block) == would_deadlock);
    }
    context.stop();
    runner.join();
}

TEST_CASE("serial_context: a context that no thread runs serves nothing") {
    asio::io_context context;
    serving_threads const none(asio::make_strand(asio::any_io_executor(context.get_executor())));
    auto const served = none.others(20ms, 10ms);
    REQUIRE_FALSE(served);
    CHECK(served.error() == ipybox::errc::would_deadlock);
    CHECK(served.error().text().starts_with("no thread runs the executor's I/O context: run it on another thread"));
    CHECK(context.poll() == 1); // what was asked comes late, and is harmless
}

TEST_CASE("serial_context: behind the end of its context nothing would wait, and nothing of that is used") {
    auto own = std::make_optional(serial_context::on_own_thread());
    auto context = std::make_unique<asio::io_context>();
    auto application = std::make_optional(serial_context::on_strand_of(context->get_executor()));
    auto const of_thread = own->may_block;
    auto const of_strand = application->may_block;
    own.reset();
    application.reset();
    context.reset();
    CHECK(of_thread());
    CHECK(of_strand());
}

TEST_CASE("serial_context: a forked child is told that it has none") {
    auto const own = serial_context::on_own_thread();
    asio::io_context context;
    auto const application = serial_context::on_strand_of(context.get_executor());
    pid_t const forked = ::fork();
    if (forked == 0) {
        auto const refused = [](serial_context const& h) {
            auto const served = h.may_block();
            return !served && served.error() == ipybox::errc::not_running;
        };
        ::_exit(refused(own) && refused(application) && !own.owner.is_this() ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(forked, &status, 0) == forked);
    CHECK(status == 0);
    CHECK(own.owner.is_this());
}

TEST_CASE("serial_context: one strand, one handler at a time", "[tsan]") {
    asio::thread_pool pool(4);
    auto const made = serial_context::on_strand_of(pool.get_executor());
    int count = 0; // not atomic on purpose
    for (int i = 0; i < 1000; ++i) asio::post(made.executor, [&] { ++count; });
    pool.join();
    CHECK(count == 1000);
}

TEST_CASE("await_completion: completed on another thread", "[tsan]") {
    asio::io_context context;
    std::thread other;
    auto const whole = [&]() -> asio::awaitable<std::string> {
        auto const here = std::this_thread::get_id();
        auto pending = await_completion<std::string>([&](completion<std::string> done) {
            other = std::thread([done = std::move(done)]() mutable { done("from there"); });
        });
        auto text = co_await std::move(pending);
        if (std::this_thread::get_id() != here) text = "on the wrong thread";
        co_return text;
    };
    CHECK(run(context, whole()) == "from there");
    other.join();
}

TEST_CASE("await_completion: completed before it suspends, it goes on all the same") {
    asio::io_context context;
    std::string order;
    auto const whole = [&]() -> asio::awaitable<bool> {
        auto pending = await_completion<std::unique_ptr<int>>([&](completion<std::unique_ptr<int>> done) {
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
