#include <ipybox/async/mailbox.hpp>
#include <ipybox/async/with_timeout.hpp>

#include <support/catch.hpp>
#include <support/transport_driver.hpp>

#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
using ipybox::detail::mailbox;
using ipybox::detail::with_timeout;
using ipybox::test::run;

asio::awaitable<std::string> value(std::string v) { co_return v; }

asio::awaitable<std::string> thrower() {
    throw std::runtime_error("thrown");
    co_return "";
}

asio::awaitable<std::string> from(std::shared_ptr<mailbox<std::string>> box, bool& ended) {
    auto item = co_await box->pop();
    ended = true;
    co_return std::move(*item);
}

} // namespace

TEST_CASE("with_timeout: a value at once, and after a while") {
    asio::io_context context;
    CHECK(run(context, with_timeout(value("now"), std::chrono::hours(1))) == "now");
    auto const box = std::make_shared<mailbox<std::string>>(context.get_executor());
    bool ended = false;
    asio::post(context, [&] { box->push("then"); });
    CHECK(run(context, with_timeout(from(box, ended), std::chrono::hours(1))) == "then");
    CHECK(ended);
}

TEST_CASE("with_timeout: the bound passes, the operation goes on by itself") {
    asio::io_context context;
    auto const box = std::make_shared<mailbox<std::string>>(context.get_executor());
    bool ended = false;
    CHECK(run(context, with_timeout(from(box, ended), 10ms)) == std::nullopt);
    CHECK_FALSE(ended);
    box->push("dropped");
    context.restart();
    context.run();
    CHECK(ended);
}

TEST_CASE("with_timeout: an exception comes through") {
    asio::io_context context;
    auto const all = [&]() -> asio::awaitable<std::string> {
        std::string said;
        try {
            auto pending = with_timeout(thrower(), std::chrono::hours(1));
            auto const none = co_await std::move(pending);
            said = none ? "value" : "none";
        } catch (std::runtime_error const& e) { said = e.what(); }
        co_return said;
    };
    CHECK(run(context, all()) == "thrown");
}

TEST_CASE("with_timeout: no time at all") {
    asio::io_context context;
    auto const box = std::make_shared<mailbox<std::string>>(context.get_executor());
    bool ended = false;
    CHECK(run(context, with_timeout(from(box, ended), 0ms)) == std::nullopt);
}
