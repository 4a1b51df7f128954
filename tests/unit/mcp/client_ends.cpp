#include <ipybox/mcp/client.hpp>
#include <ipybox/mcp/tool_call_machine.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/coroutines.hpp>
#include <support/one_server.hpp>
#include <support/turns.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/execution/blocking.hpp>
#include <asio/execution/context.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/use_future.hpp>

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::mcp;
using namespace std::chrono_literals;
using nlohmann::json;
using test::contains;
using test::good;
using test::good_stateless;
using test::initialized;
using test::lines;
using test::one_server;
using test::refusal_line;
using test::result_line;
using test::run;
using test::scripted_server;
using test::text_result;

} // namespace

TEST_CASE_METHOD(one_server, "client: a server that dies fails its calls, and is started anew by the next") {
    server->answer = [&](json const& message) -> lines {
        auto const text = message["params"].value("arguments", json::object()).value("text", "");
        if (text == "die") server->die();
        return text == "die" || text == "wait" ? lines() : good(message);
    };
    CHECK(echo("a") == "a");
    auto const waiting = begin("wait");
    REQUIRE(until([&] { return server->heard.size() == 4; }));
    auto const why = failure_of("die");
    CHECK(why == errc::mcp_server_died);
    CHECK(why.status().code == 7);
    CHECK(why.text() == "the MCP server 'srv' ended: exit code 7; it said: a secret\nit said:\na secret");
    REQUIRE(until([&] { return waiting->outcome.has_value(); }));
    CHECK(waiting->outcome->error() == errc::mcp_server_died);
    CHECK(echo("b") == "b");
    CHECK(server->lives == 2);
    CHECK(server->closed == 1);
}

TEST_CASE_METHOD(one_server, "client: one that dies between calls is noticed") {
    CHECK(echo("a") == "a");
    server->die();
    REQUIRE(until([&] { return server->closed == 1; }));
    CHECK_FALSE(run(context, client().current_session()));
    CHECK(echo("b") == "b");
    CHECK(server->lives == 2);
}

TEST_CASE_METHOD(one_server, "client: who calls at the very moment of the end gets a new server") {
    CHECK(echo("a") == "a");
    bool stopped = false;
    asio::co_spawn(context, client().stop(), [&](std::exception_ptr) { stopped = true; });
    auto const after = begin("b"); // before anything could be ended
    REQUIRE(until([&] { return stopped && after->outcome; }));
    CHECK(said(*after->outcome) == "b");
    CHECK(server->lives == 2);
}

TEST_CASE_METHOD(one_server, "client: one that dies while it starts") {
    server->answer = [&](json const&) -> lines {
        server->die();
        return {};
    };
    auto const why = failure_of();
    CHECK(why == errc::mcp_start_failed);
    CHECK(
        contains(why.text(), "the MCP server 'srv' could not be started: it ended: exit code 7; it said: a secret\n"));
    CHECK(why.status().code == 7);
}

namespace {

/// Of an event loop that queues whatever it is given.
struct queueing_executor {
    asio::io_context* context;

    [[nodiscard]] asio::execution_context& query(asio::execution::context_t) const noexcept { return *context; }
    [[nodiscard]] static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
        return asio::execution::blocking.never;
    }
    template <class Function>
    void execute(Function f) const {
        asio::post(*context, std::move(f));
    }
    bool operator==(queueing_executor const&) const noexcept = default;
};

} // namespace

TEST_CASE_METHOD(one_server, "client: a stop right behind the first call ends both, on an executor that only queues") {
    made = mcp::detail::client::make(queueing_executor{&context}, "srv", params, surroundings);
    auto const early = begin("a");
    bool stopped = false;
    asio::co_spawn(context, client().stop(), [&](std::exception_ptr) { stopped = true; });
    REQUIRE(until([&] { return stopped && early->outcome; }));
    CHECK(early->outcome->error() == errc::not_running);
    CHECK(server->lives == 0);
    CHECK(echo("b") == "b");
}

TEST_CASE("client: a stop completes also where the client's context goes before it takes it") {
    auto const server = std::make_shared<scripted_server>();
    auto context = std::make_unique<asio::io_context>();
    asio::io_context callers;
    auto const client =
        mcp::detail::client::make(context->get_executor(), "srv", server_params(), {test::channels_to(server), {}, {}});
    auto stopped = asio::co_spawn(callers, client->stop(), asio::use_future);
    auto described = asio::co_spawn(callers, client->current_session(), asio::use_future);
    callers.poll();
    context.reset();
    callers.run_for(10s);
    REQUIRE(stopped.wait_for(0s) == std::future_status::ready);
    CHECK_NOTHROW(stopped.get());
    REQUIRE(described.wait_for(0s) == std::future_status::ready);
    CHECK_FALSE(described.get());
}

TEST_CASE_METHOD(one_server, "client: stop ends what is under way, and the next call starts anew") {
    server->answer = [](json const& message) {
        return message.value("method", "") == "tools/call" ? lines() : good(message);
    };
    auto const working = begin("a");
    REQUIRE(until([&] { return server->heard.size() == 3; }));
    run(context, client().stop());
    REQUIRE(until([&] { return working->outcome.has_value(); }));
    CHECK(working->outcome->error() == errc::not_running);
    CHECK(server->closed == 1);
    run(context, client().stop()); // nothing to do
    server->answer = good;
    CHECK(echo("b") == "b");
    CHECK(server->lives == 2);
}

TEST_CASE_METHOD(one_server, "client: stop while it starts, and who comes afterwards gets a new server") {
    server->answer = [&](json const& message) { return server->lives == 1 ? lines() : good(message); };
    auto const early = begin("a");
    REQUIRE(until([&] { return server->heard.size() == 1; }));
    bool stopped = false;
    asio::co_spawn(context, client().stop(), [&](std::exception_ptr) { stopped = true; });
    auto const late = begin("b");
    REQUIRE(until([&] { return stopped && early->outcome && late->outcome; }));
    CHECK(early->outcome->error() == errc::not_running);
    CHECK(said(*late->outcome) == "b");
    CHECK(server->lives == 2);
}

TEST_CASE_METHOD(one_server, "client: killed and let go of with calls under way, it completes them") {
    server->answer = [](json const& message) {
        return message.value("method", "") == "tools/call" ? lines() : good(message);
    };
    auto const working = begin("a");
    REQUIRE(until([&] { return server->heard.size() == 3; }));
    auto const unsent = begin("b");
    let_go();
    REQUIRE(until([&] { return working->outcome && unsent->outcome; }));
    CHECK(working->outcome->error() == errc::not_running);
    CHECK(unsent->outcome->error() == errc::not_running);
    CHECK(server->closed == 1);
}

namespace {

std::vector<std::shared_ptr<one_server::pending>> three_calls_that_ended(one_server& f) {
    std::vector<std::shared_ptr<one_server::pending>> calls;
    for (int i = 0; i < 3; ++i) calls.push_back(f.begin("text", {.timeout = 5s}));
    REQUIRE(f.until(
        [&] { return std::all_of(calls.begin(), calls.end(), [](auto const& c) { return c->outcome.has_value(); }); }));
    return calls;
}

} // namespace

TEST_CASE("client: wherever the channel fails, every call completes once and the client works again") {
    for (std::size_t n = 0; n < 14; ++n) {
        CAPTURE(n);
        one_server f;
        f.server->fails_at = n;
        for (auto const& call : three_calls_that_ended(f)) {
            CHECK(call->completions == 1);
            if (*call->outcome) continue;
            auto const& why = call->outcome->error();
            CHECK((why == errc::mcp_server_died || why == errc::mcp_start_failed));
            CHECK(contains(why.text(), "the MCP server 'srv' "));
        }
        f.server->fails_at.reset();
        f.context.restart();
        f.context.poll(); // the end of a server is noticed as soon as it is there
        CHECK(f.echo("again") == "again");
    }
}

TEST_CASE(
    "client: wherever a channel of the application throws, every call completes once and the client works again") {
    for (std::size_t n = 0; n < 14; ++n) {
        CAPTURE(n);
        one_server f;
        f.server->fails_at = n;
        f.server->throws = true;
        for (auto const& call : three_calls_that_ended(f)) {
            CHECK(call->completions == 1);
            if (*call->outcome) continue;
            CHECK(call->outcome->error() == errc::io_error);
            CHECK(contains(call->outcome->error().text(), "a bug of the channel"));
        }
        f.server->fails_at.reset();
        f.context.restart();
        f.context.poll();
        CHECK(f.echo("again") == "again");
        f.server->throws = false;
    }
}
