#include <ipybox/async/aside.hpp>

#include <support/catch.hpp>
#include <support/child.hpp>
#include <support/signal_mask.hpp>
#include <support/transport_driver.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;
using ipybox::detail::aside;
using ipybox::detail::side_threads;
using ipybox::test::run;
using ipybox::test::takes_own_signals_alone;

/// While it lives, the system makes no threads.
class no_more_threads {
  public:
    no_more_threads() {
        ::pthread_getattr_default_np(&before_);
        pthread_attr_t huge;
        ::pthread_getattr_default_np(&huge);
        ::pthread_attr_setstacksize(&huge, std::size_t(1) << 46); // there is no room for such a stack
        ::pthread_setattr_default_np(&huge);
        ::pthread_attr_destroy(&huge);
    }
    no_more_threads(no_more_threads const&) = delete;
    no_more_threads& operator=(no_more_threads const&) = delete;
    ~no_more_threads() {
        ::pthread_setattr_default_np(&before_);
        ::pthread_attr_destroy(&before_);
    }

  private:
    pthread_attr_t before_;
};

} // namespace

TEST_CASE("aside: other handlers run while the work is done", "[tsan]") {
    asio::io_context context;
    side_threads threads;
    std::promise<std::string> said;
    asio::post(context, [&said] { said.set_value("by a handler"); });
    auto const work = [heard = said.get_future().share()] {
        return heard.wait_for(30s) == std::future_status::ready ? heard.get() : std::string("nothing");
    };
    CHECK(run(context, aside(threads, work)) == "by a handler");
}

TEST_CASE("aside: work takes no signals but those of its own instructions", "[tsan]") {
    asio::io_context context;
    side_threads threads;
    CHECK(run(context, aside(threads, [] { return takes_own_signals_alone(); })));
}

TEST_CASE("aside: the coroutine goes on where it was", "[tsan]") {
    asio::io_context context;
    side_threads threads;
    auto const both = [](side_threads& with) -> asio::awaitable<std::pair<std::thread::id, std::thread::id>> {
        auto const where = [] { return std::this_thread::get_id(); };
        auto const there = co_await aside(with, where);
        co_return std::pair(there, std::this_thread::get_id());
    };
    auto const [there, here] = run(context, both(threads));
    CHECK(there != std::this_thread::get_id());
    CHECK(here == std::this_thread::get_id());
}

TEST_CASE("aside: what the work throws is thrown to the coroutine", "[tsan]") {
    asio::io_context context;
    side_threads threads;
    auto const work = []() -> int { throw std::runtime_error("thrown"); };
    CHECK_THROWS_WITH(run(context, aside(threads, work)), "thrown");
}

TEST_CASE("aside: without a thread, the work is done in place") {
    asio::io_context context;
    side_threads threads;
    auto const here = std::this_thread::get_id();
    auto where = [own = std::make_unique<int>()] { return std::this_thread::get_id(); };
    auto const fail = []() -> int { throw std::runtime_error("thrown"); };
    no_more_threads const none;
    CHECK(run(context, aside(threads, std::move(where))) == here);
    CHECK_THROWS_WITH(run(context, aside(threads, fail)), "thrown");
}

TEST_CASE("side_threads: work that gets no thread is left to the caller", "[tsan]") {
    std::promise<int> said;
    side_threads threads;
    ipybox::detail::move_only_function<void()> work = [&said, own = std::make_unique<int>(4)] { said.set_value(*own); };
    {
        no_more_threads const none;
        CHECK_THROWS_AS(threads.begin(std::move(work)), std::system_error);
    }
    REQUIRE(work);
    threads.begin(std::move(work));
    CHECK(said.get_future().get() == 4);
}

TEST_CASE("aside: a fork waits for no work of its parent") {
    side_threads threads;
    std::promise<void> begun;
    std::promise<void> may_end;
    threads.begin([&] {
        begun.set_value();
        may_end.get_future().wait();
    });
    begun.get_future().wait();
    pid_t const forked = ::fork();
    if (forked == 0) {
        threads.~side_threads();
        ::_exit(0);
    }
    CHECK(ipybox::test::end_of(forked) == "0");
    may_end.set_value();
}

TEST_CASE("aside: work ends before what it belongs to, though its context is gone", "[tsan]") {
    struct owner {
        std::string text = "there";
        side_threads threads;
    };
    std::promise<void> begun;
    std::promise<void> gone;
    std::string seen;
    {
        auto context = std::make_unique<asio::io_context>();
        auto of = std::make_unique<owner>();
        auto const work = [&begun, &seen, text = &of->text, may_end = gone.get_future().share()] {
            begun.set_value();
            may_end.wait_for(30s);
            seen = *text;
            return 0;
        };
        auto const wait = [work](owner& o) -> asio::awaitable<void> { (void)co_await aside(o.threads, work); };
        asio::co_spawn(*context, wait(*of), asio::detached);
        context->poll();
        begun.get_future().wait();
        context.reset();
        gone.set_value();
    }
    CHECK(seen == "there");
}
