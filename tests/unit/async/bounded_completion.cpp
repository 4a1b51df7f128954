#include <ipybox/async/bounded_completion.hpp>

#include <support/catch.hpp>

#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using bounded = detail::bounded_completion<std::string>;

struct fixture {
    asio::io_context context;
    std::string got;
    int calls = 0;
    int late_calls = 0;

    std::shared_ptr<bounded> make(std::chrono::milliseconds bound, std::stop_token unwanted = {}) {
        auto const done = [this](result<std::string> r) {
            got = r ? *r : r.error().text();
            ++calls;
        };
        auto const late = [this] {
            ++late_calls;
            return error(errc::kernel_unresponsive, "late");
        };
        return bounded::make(context.get_executor(), bound, {done, context.get_executor()}, late, std::move(unwanted));
    }
};

} // namespace

TEST_CASE_METHOD(fixture, "bounded_completion: an answer in time ends the wait") {
    auto const done = make(std::chrono::hours(1));
    CHECK_FALSE(done->answered());
    asio::post(context, [&] {
        (*done)("value");
        CHECK(done->answered());
        (*done)("again"); // is dropped
    });
    context.run(); // returns: no timer is left
    CHECK(got == "value");
    CHECK(calls == 1);
    CHECK(late_calls == 0);
}

TEST_CASE_METHOD(fixture, "bounded_completion: nobody wants the answer any more") {
    std::stop_source before;
    before.request_stop();
    auto const never = make(std::chrono::hours(1), before.get_token());
    context.run();
    CHECK(never->answered());
    CHECK(calls == 1);

    std::stop_source meanwhile;
    auto const done = make(std::chrono::hours(1), meanwhile.get_token());
    std::thread other([&] { meanwhile.request_stop(); });
    context.restart();
    context.run();
    other.join();
    CHECK(done->answered());
    CHECK(calls == 2);
    CHECK(late_calls == 0);
}

TEST_CASE_METHOD(fixture, "bounded_completion: nobody answers") {
    auto const done = make(10ms);
    context.run();
    CHECK(got == "late");
    CHECK(done->answered());
    (*done)("too late");
    context.restart();
    context.run();
    CHECK(calls == 1);
    CHECK(late_calls == 1);
}

TEST_CASE_METHOD(fixture, "bounded_completion: completes although everybody else has let go of it") {
    make(10ms);
    context.run();
    CHECK(got == "late");
}

TEST_CASE_METHOD(fixture, "bounded_completion: an answer and the bound at the same time") {
    auto const done = make(0ms);
    (*done)("first");
    context.run();
    CHECK(got == "first");
    CHECK(calls == 1);
}

TEST_CASE_METHOD(fixture, "bounded_completion: an answer when the timer has already expired") {
    auto const done = make(0ms);
    std::string order;
    asio::post(context, [&] {
        // The expired timer's handler stands behind this one, no longer to be cancelled.
        auto const until = std::chrono::steady_clock::now() + 5ms;
        while (std::chrono::steady_clock::now() < until) {}
        (*done)("first");
    });
    context.run();
    CHECK(calls == 1);
}
