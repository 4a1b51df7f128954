#include <ipybox/async/post_work.hpp>
#include <ipybox/async/wait_handler.hpp>

#include <support/catch.hpp>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

using ipybox::detail::dispatch_work;
using ipybox::detail::post_work;
using ipybox::detail::wait_handler;

TEST_CASE("post_work: never inline, and dispatch_work where the executor allows it") {
    asio::io_context context;
    auto const strand = asio::make_strand(context);
    std::string order;
    dispatch_work(strand, [&] {
        post_work(strand, [&, own = std::make_unique<char>('c')] { order += *own; });
        dispatch_work(strand, [&, own = std::make_unique<char>('a')] { order += *own; });
        order += 'b';
    });
    CHECK(order.empty());
    context.run();
    CHECK(order == "abc");
}

TEST_CASE("post_work: work is destroyed with its context, undone") {
    auto const token = std::make_shared<int>();
    bool done = false;
    {
        asio::io_context context;
        post_work(asio::make_strand(context), [token, &done] { done = true; });
        dispatch_work(context.get_executor(), [token, &done] { done = true; });
        CHECK(token.use_count() == 3);
    }
    CHECK(token.use_count() == 1);
    CHECK_FALSE(done);
}

TEST_CASE("wait_handler: of a timer that goes off, is cancelled, and goes with its context") {
    auto const token = std::make_shared<int>();
    std::string told;
    {
        asio::io_context context;
        asio::steady_timer at_once(context, std::chrono::seconds(0));
        asio::steady_timer cancelled(context, std::chrono::hours(1));
        asio::steady_timer never(context, std::chrono::hours(1));
        auto const telling = [&told, token](asio::error_code ec) { told += ec ? "cancelled " : "expired "; };
        at_once.async_wait(wait_handler(telling));
        context.run();
        context.restart();
        cancelled.async_wait(wait_handler(telling));
        cancelled.cancel();
        context.run_one();
        never.async_wait(wait_handler(telling));
        CHECK(token.use_count() > 1);
    }
    CHECK(told == "expired cancelled ");
    CHECK(token.use_count() == 1);
}
