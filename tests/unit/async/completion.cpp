#include <ipybox/async/completion.hpp>

#include <support/catch.hpp>

#include <asio/async_result.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <asio/use_future.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using ipybox::detail::completion;

template <class T, class Token>
auto initiate(completion<T>& out, asio::any_io_executor const& fallback, Token&& token) {
    return asio::async_initiate<Token, void(T)>(
        [&](auto handler) { out = completion<T>(std::move(handler), fallback); }, token);
}

} // namespace

TEST_CASE("completion: delivers once, never inline") {
    asio::io_context context;
    std::string got;
    completion<std::string> done([&](std::string v) { got += v; }, context.get_executor());
    CHECK(done);
    done("value");
    CHECK_FALSE(done);
    CHECK(got.empty());
    context.run();
    CHECK(got == "value");
    CHECK_FALSE(completion<int>());
}

TEST_CASE("completion: never inline on the context's own thread either") {
    asio::io_context context;
    std::string order;
    asio::post(context, [&] {
        completion<int> done([&](int) { order += "handler"; }, context.get_executor());
        done(1);
        order += "caller ";
    });
    context.run();
    CHECK(order == "caller handler");
}

TEST_CASE("completion: goes to the handler's own executor") {
    asio::io_context fallback;
    asio::io_context own;
    auto const strand = asio::make_strand(own);
    bool there = false;
    completion<int> done(asio::bind_executor(strand, [&](int) { there = strand.running_in_this_thread(); }),
                         fallback.get_executor());
    done(1);
    CHECK(fallback.run() == 0);
    own.run();
    CHECK(there);
}

TEST_CASE("completion: keeps its context at work until the handler ran") {
    asio::io_context context;
    completion<int> done([](int) {}, context.get_executor());
    CHECK(context.poll() == 0);
    CHECK_FALSE(context.stopped());
    done(1);
    CHECK(context.poll() == 1);
    CHECK(context.stopped());
}

TEST_CASE("completion: dropped, it takes its handler along, where that would have run") {
    asio::io_context context;
    auto const token = std::make_shared<int>();
    bool called = false;
    {
        completion<int> const done([token, &called](int) { called = true; }, context.get_executor());
        CHECK(token.use_count() == 2);
    }
    CHECK(token.use_count() == 2);
    CHECK(context.poll() == 1);
    CHECK(token.use_count() == 1);
    CHECK(context.stopped());
    CHECK_FALSE(called);
}

TEST_CASE("completion: the handler is gone before it is called again") {
    // A handler may end what the completion is part of.
    asio::io_context context;
    auto owner = std::make_shared<completion<int>>();
    bool called = false;
    *owner = completion<int>([&called, owner](int) { called = true; }, context.get_executor());
    std::weak_ptr<completion<int>> const weak = owner;
    auto& done = *std::exchange(owner, nullptr);
    done(1);
    context.run();
    CHECK(called);
    CHECK(weak.expired());
}

TEST_CASE("completion: values and handlers that only move") {
    asio::io_context context;
    int got = 0;
    completion<std::unique_ptr<int>> done(
        [&got, own = std::make_unique<int>(1)](std::unique_ptr<int> v) { got = *v + *own; }, context.get_executor());
    completion<std::unique_ptr<int>> moved(std::move(done));
    CHECK_FALSE(done);
    moved(std::make_unique<int>(41));
    context.run();
    CHECK(got == 42);
}

TEST_CASE("completion: shows the handler's cancellation slot") {
    asio::io_context context;
    asio::cancellation_signal signal;
    completion<int> with(asio::bind_cancellation_slot(signal.slot(), [](int) {}), context.get_executor());
    completion<int> without([](int) {}, context.get_executor());
    REQUIRE(with.slot().is_connected());
    CHECK_FALSE(without.slot().is_connected());
    bool cancelled = false;
    with.slot().assign([&](asio::cancellation_type) { cancelled = true; });
    signal.emit(asio::cancellation_type::terminal);
    CHECK(cancelled);
    with.slot().clear();
}

TEST_CASE("completion: of a future", "[tsan]") {
    asio::io_context context;
    completion<int> done;
    auto value = initiate(done, context.get_executor(), asio::use_future);
    std::thread other([&] { done(5); });
    CHECK(value.get() == 5); // nobody has to run the context for it
    other.join();

    auto broken = initiate(done, context.get_executor(), asio::use_future);
    done = {};
    CHECK_THROWS_AS(broken.get(), std::future_error);
}

TEST_CASE("completion: called from many threads", "[tsan]") {
    asio::io_context context;
    int sum = 0; // written on the context's thread only
    std::vector<completion<int>> all;
    for (int i = 0; i < 64; ++i) all.emplace_back([&sum](int v) { sum += v; }, context.get_executor());
    std::thread runner([&] { context.run(); });
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t)
        threads.emplace_back([&all, t] {
            for (std::size_t i = t; i < all.size(); i += 4) all[i](1);
        });
    for (auto& t : threads) t.join();
    runner.join();
    CHECK(sum == 64);
}
