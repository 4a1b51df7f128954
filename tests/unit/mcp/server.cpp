#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/server.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/coroutines.hpp>
#include <support/scripted_client.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace ipybox;
using namespace std::chrono_literals;
using nlohmann::json;
using test::contains;
using call_ptr = std::shared_ptr<mcp::server::call>;
using returned = asio::awaitable<mcp::call_result>;

mcp::server::tool served_tool(std::string name, mcp::server::tool::handler_type handler) {
    mcp::server::tool made;
    made.definition.name = std::move(name);
    made.definition.input_schema = nlohmann::ordered_json{{"type", "object"}};
    made.handler = std::move(handler);
    return made;
}

mcp::call_result said(std::string text) {
    mcp::call_result r;
    r.content.emplace_back(mcp::content::text{std::move(text)});
    return r;
}

returned at_once(call_ptr call) { co_return said(call->raw_arguments().text()); }

mcp::server::options serving(mcp::server::tool::handler_type handler = at_once) {
    mcp::server::options options;
    options.name = "served";
    options.version = "1";
    options.limits.end_grace = 5s;
    options.tools.push_back(served_tool("tool", std::move(handler)));
    return options;
}

json initialize(std::string const& spoken, json const& capabilities = json::object()) {
    return {{"jsonrpc", "2.0"},
            {"id", 0},
            {"method", "initialize"},
            {"params", {{"protocolVersion", spoken}, {"capabilities", capabilities}}}};
}

json calling(json const& id, json params = json::object()) {
    params["name"] = "tool";
    return {{"jsonrpc", "2.0"}, {"id", id}, {"method", "tools/call"}, {"params", params}};
}

json pinging(json const& id) { return {{"jsonrpc", "2.0"}, {"id", id}, {"method", "ping"}}; }

/// A server and its client on one context.
struct served {
    explicit served(mcp::server::options options)
        : server(*mcp::server::make(std::move(options))),
          client(std::make_shared<test::scripted_client>(context.get_executor())) {}

    /// Serves until the client ends.
    result<void> run() { return test::run<result<void>>(context, server.serve(client), 30s); }

    [[nodiscard]] json answer_to(json const& id) const {
        for (auto const& message : client->heard)
            if (!message.contains("method") && message["id"] == id) return message;
        FAIL("there is no answer to " + id.dump());
        return {};
    }

    asio::io_context context{1};
    mcp::server server;
    std::shared_ptr<test::scripted_client> client;
};

asio::awaitable<void> rest(std::chrono::milliseconds time) {
    auto const executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

} // namespace

TEST_CASE("server: tools that cannot be served") {
    struct row {
        std::function<void(mcp::server::tool&)> spoil;
        char const* why;
    };
    for (auto const& [spoil, why] :
         {row{[](auto& t) { t.definition.name = ""; }, "1 to 128"},
          row{[](auto& t) { t.definition.name = "a b"; }, "not \"a b\""},
          row{[](auto& t) { t.definition.name = std::string(129, 'n'); }, "1 to 128"},
          row{[](auto& t) { t.handler = nullptr; }, "no handler"},
          row{[](auto& t) { t.definition.input_schema = nlohmann::ordered_json::object(); }, "\"object\""},
          row{[](auto& t) { t.definition.input_schema = 7; }, "\"object\""},
          row{[](auto& t) { t.definition.input_schema["patternProperties"] = nlohmann::ordered_json::object(); },
              "patternProperties"},
          row{[](auto& t) { t.definition.name = "first"; }, "two tools"}}) {
        auto options = serving();
        options.tools.push_back(served_tool("first", at_once));
        options.tools.push_back(served_tool("second", at_once));
        spoil(options.tools.back());
        auto const made = mcp::server::make(options);
        REQUIRE_FALSE(made);
        CHECK(made.error() == errc::invalid_argument);
        CHECK(contains(made.error().text(), why));
    }
    auto options = serving();
    options.tools[0].definition.name = std::string(128, 'n');
    options.tools[0].definition.input_schema["patternProperties"] = nlohmann::ordered_json::object();
    options.tools[0].check = [](json const&) { return std::nullopt; };
    CHECK(mcp::server::make(options));
}

TEST_CASE("server: serves until the client ends, and answers what is known then") {
    served s(serving());
    s.client->say(initialize("2025-11-25"));
    s.client->say(calling(1, {{"arguments", {{"b", 1}, {"a", 2}}}}));
    s.client->say_line(failure(errc::message_too_large, "too long"));
    s.client->say_line(std::optional<std::string>("garbage"));
    s.client->say(pinging(2));
    s.client->end();
    CHECK(s.run());
    REQUIRE(s.client->heard.size() == 5);
    CHECK(s.answer_to(1)["result"]["content"][0]["text"] == R"({"a":2,"b":1})");
    CHECK(s.answer_to(2).contains("result"));
    CHECK(s.client->heard[2]["error"]["code"] == -32700);
    CHECK(s.client->closed);
}

TEST_CASE("server: handlers run beside each other, and other requests are answered meanwhile") {
    std::vector<asio::steady_timer*> waiting;
    std::function<void()> on_both;
    served s(serving([&](call_ptr call) -> returned {
        auto const executor = co_await asio::this_coro::executor;
        asio::steady_timer timer(executor, asio::steady_timer::time_point::max());
        waiting.push_back(&timer);
        if (waiting.size() == 2) on_both();
        asio::error_code woken;
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
        co_return said(call->raw_arguments().text());
    }));
    on_both = [&] { s.client->say(pinging("p")); };
    s.client->say(initialize("2025-11-25"));
    s.client->say(calling("a"));
    s.client->say(calling("b"));
    s.client->on_message = [&](json const& m) {
        if (m.value("id", json()) == "p") waiting[1]->cancel();
        if (m.value("id", json()) == "b") waiting[0]->cancel();
        if (m.value("id", json()) == "a") s.client->end();
    };
    CHECK(s.run());
    REQUIRE(s.client->heard.size() == 4);
    CHECK(s.client->heard[1]["id"] == "p");
    CHECK(s.client->heard[2]["id"] == "b");
    CHECK(s.client->heard[3]["id"] == "a");
}

TEST_CASE("server: what a handler throws is its tool's error") {
    served s(serving([](call_ptr call) -> returned {
        if (call->arguments().contains("odd")) throw 7;
        throw std::runtime_error("a bug of the tool");
        co_return mcp::call_result();
    }));
    s.client->say(initialize("2025-11-25"));
    s.client->say(calling(1));
    s.client->say(calling(2, {{"arguments", {{"odd", 1}}}}));
    s.client->end();
    CHECK(s.run());
    CHECK(s.answer_to(1)["result"]["isError"] == true);
    CHECK(s.answer_to(1)["result"]["content"][0]["text"] == "a bug of the tool");
    CHECK(s.answer_to(2)["result"]["isError"] == true);
}

TEST_CASE("server: cancellation reaches the handler, and there is no answer") {
    int begun = 0;
    int cancelled = 0;
    for (auto const* const how : {"notification", "end", "slot"}) {
        CAPTURE(how);
        std::function<void()> on_begin;
        served s(serving([&](call_ptr call) -> returned {
            ++begun;
            on_begin();
            try {
                co_await rest(1h);
            } catch (std::exception const&) { // co_await again would throw again
                cancelled += call->cancelled() ? 1 : 0;
                call->progress(1);
            }
            co_return said("late");
        }));
        s.client->say(initialize("2025-11-25"));
        on_begin = [&] { s.client->say(pinging("p")); };
        s.client->say(calling("x", {{"_meta", {{"progressToken", 1}}}}));
        asio::cancellation_signal signal;
        s.client->on_message = [&](json const& m) {
            if (m.value("id", json()) != "p") return;
            if (how == std::string("notification"))
                s.client->say(
                    {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", "x"}}}});
            if (how == std::string("slot"))
                asio::post(s.context, [&] { signal.emit(asio::cancellation_type::terminal); });
            else
                s.client->end();
        };
        bool is_served = true;
        asio::co_spawn(s.context, s.server.serve(s.client),
                       asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr bug, result<void> outcome) {
                           CHECK_FALSE(bug);
                           CHECK(outcome);
                           is_served = false;
                       }));
        s.context.run_for(20s);
        CHECK_FALSE(is_served);
        CHECK(s.client->heard.size() == 2);
    }
    CHECK(begun == 3);
    CHECK(cancelled == 3);
}

TEST_CASE("server: a handler that does not end is left behind in time") {
    bool ends = false;
    auto options = serving([&ends](call_ptr) -> returned {
        auto const executor = co_await asio::this_coro::executor;
        asio::steady_timer timer(executor);
        while (!ends) { // deaf to cancellation
            timer.expires_after(1ms);
            asio::error_code ignored;
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        }
        co_return said("late");
    });
    options.limits.end_grace = 50ms;
    served s(options);
    s.client->say(initialize("2025-11-25"));
    s.client->say(calling(1));
    s.client->end();
    auto const begin = std::chrono::steady_clock::now();
    CHECK(s.run());
    CHECK(std::chrono::steady_clock::now() - begin >= 50ms);
    CHECK(s.client->heard.size() == 1);
    ends = true; // it outlives its connection, and harms nothing
    s.context.restart();
    s.context.run_for(5s); // until nothing is left to do
    CHECK(s.client->heard.size() == 1);
}

TEST_CASE("server: questions and their answers") {
    std::vector<std::string> outcomes;
    auto const asks = [&outcomes](call_ptr call) -> returned {
        auto const form = nlohmann::ordered_json::parse(R"({"type":"object","properties":{}})");
        auto const answer = co_await call->elicit("Sure?", form);
        outcomes.push_back(answer ? answer->content.dump() : answer.error().text());
        co_return said(outcomes.back());
    };
    json const forms{{"elicitation", json::object()}};
    SECTION("with a handshake") {
        served s(serving(asks));
        s.client->on_message = [&](json const& m) {
            if (m.value("method", "") == "elicitation/create")
                s.client->say(
                    {{"jsonrpc", "2.0"}, {"id", m["id"]}, {"result", {{"action", "accept"}, {"content", {{"x", 1}}}}}});
            if (m.value("id", json()) == "q") s.client->end();
        };
        s.client->say(initialize("2025-11-25", forms));
        s.client->say(calling("q"));
        CHECK(s.run());
        CHECK(s.answer_to("q")["result"]["content"][0]["text"] == R"({"x":1})");
    }
    SECTION("2026-07-28") {
        served s(serving(asks));
        json const meta{{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
                        {"io.modelcontextprotocol/clientCapabilities", forms}};
        s.client->on_message = [&](json const& m) {
            auto const& r = m["result"];
            if (r["resultType"] == "complete") return s.client->end();
            json responses;
            responses[r["inputRequests"].begin().key()] = {{"action", "accept"}, {"content", {{"x", 2}}}};
            s.client->say(calling(
                "again", {{"_meta", meta}, {"requestState", r["requestState"]}, {"inputResponses", responses}}));
        };
        s.client->say(calling("q", {{"_meta", meta}}));
        CHECK(s.run());
        REQUIRE(s.client->heard.size() == 2);
        CHECK(s.answer_to("again")["result"]["content"][0]["text"] == R"({"x":2})");
        CHECK(outcomes.size() == 1);
    }
    SECTION("a client that cannot be asked") {
        served s(serving(asks));
        s.client->on_message = [&](json const& m) {
            if (m.value("id", json()) == "q") s.client->end();
        };
        s.client->say(initialize("2024-11-05", forms));
        s.client->say(calling("q"));
        CHECK(s.run());
        CHECK(contains(s.answer_to("q")["result"]["content"][0]["text"].get<std::string>(), "elicitation"));
    }
    SECTION("the client ends") {
        served s(serving(asks));
        s.client->on_message = [&](json const& m) {
            if (m.value("method", "") == "elicitation/create") s.client->end();
        };
        s.client->say(initialize("2025-11-25", forms));
        s.client->say(calling("q"));
        CHECK(s.run());
        CHECK(s.client->heard.size() == 2);
    }
    SECTION("too late") {
        auto options = serving(asks);
        options.limits.question_timeout = 20ms;
        served s(options);
        s.client->on_message = [&](json const& m) {
            if (m.value("id", json()) == "q") s.client->end();
        };
        s.client->say(initialize("2025-11-25", forms));
        s.client->say(calling("q"));
        CHECK(s.run());
        REQUIRE(s.client->heard.size() == 4);
        CHECK(s.client->heard[2]["method"] == "notifications/cancelled");
        CHECK(contains(outcomes.at(0), "in time"));
    }
}

TEST_CASE("server: a question that its handler gives up") {
    served s(serving([](call_ptr call) -> returned {
        auto const executor = co_await asio::this_coro::executor;
        asio::cancellation_signal signal;
        auto const form = nlohmann::ordered_json::parse(R"({"type":"object","properties":{}})");
        bool answered = false;
        asio::co_spawn(executor, call->elicit("Sure?", form),
                       asio::bind_cancellation_slot(signal.slot(),
                                                    [&](std::exception_ptr, result<mcp::server::elicitation> answer) {
                                                        answered = !answer && answer.error() == condition::cancelled;
                                                    }));
        co_await rest(10ms);
        signal.emit(asio::cancellation_type::terminal);
        co_await rest(10ms);
        co_return said(answered ? "gave up" : "still waits");
    }));
    s.client->on_message = [&](json const& m) {
        if (m.value("id", json()) == "q") s.client->end();
    };
    s.client->say(initialize("2025-11-25", {{"elicitation", json::object()}}));
    s.client->say(calling("q"));
    CHECK(s.run());
    REQUIRE(s.client->heard.size() == 4);
    CHECK(s.client->heard[1]["method"] == "elicitation/create");
    CHECK(s.client->heard[2]["method"] == "notifications/cancelled");
    CHECK(s.client->heard[2]["params"]["requestId"] == s.client->heard[1]["id"]);
    CHECK(s.answer_to("q")["result"]["content"][0]["text"] == "gave up");
}

TEST_CASE("server: a client that does not read") {
    auto options = serving([](call_ptr call) -> returned {
        for (int i = 1; i <= 1000; ++i) call->progress(i, {}, std::string(100, 'p'));
        co_return said("done");
    });
    options.limits.unread_output = 10'000;
    served s(options);
    s.client->reads = false;
    s.client->say(initialize("2025-11-25"));
    s.client->say(calling(1, {{"_meta", {{"progressToken", 1}}}}));
    s.client->on_message = [&](json const& m) {
        if (m.value("id", json()) == 1) s.client->say(pinging(2));
        if (m.value("id", json()) == 1) s.client->say(pinging(3));
    };
    auto const outcome = s.run();
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error() == errc::io_error);
    CHECK(s.client->received == 3); // the line that was waited for, and no further one
    CHECK(s.client->heard.back()["id"] == 2);
    CHECK(s.client->heard.size() > 10);
    CHECK(s.client->heard.size() < 100); // progress was dropped
    CHECK(s.answer_to(1).contains("result"));
    CHECK(s.client->closed);
}

TEST_CASE("server: a channel that throws, and one that fails") {
    served s(serving());
    s.client->throws = true;
    auto const thrown = s.run();
    REQUIRE_FALSE(thrown);
    CHECK(contains(thrown.error().text(), "a bug of the channel"));
    served other(serving());
    other.client->say_line(failure(errc::io_error, "broken"));
    auto const failed = other.run();
    REQUIRE_FALSE(failed);
    CHECK(failed.error().text() == "broken");
}

TEST_CASE("server: a client is introduced once") {
    std::vector<std::string> versions;
    auto options = serving();
    options.on_client = [&](mcp::server::client_description const& client) {
        versions.push_back(client.version);
        throw std::runtime_error("dropped");
    };
    served s(options);
    s.client->say(pinging(1));
    s.client->say(initialize("2025-06-18"));
    s.client->say(initialize("2025-11-25"));
    s.client->say(calling(2));
    s.client->end();
    CHECK(s.run());
    CHECK(versions == std::vector<std::string>{"2025-06-18"});
    CHECK(s.answer_to(2).contains("result"));
}

TEST_CASE("server: a call that is kept after its client is gone") {
    call_ptr kept;
    {
        served s(serving([&kept](call_ptr call) -> returned {
            kept = call;
            co_return said("done");
        }));
        s.client->say(initialize("2025-11-25", {{"elicitation", json::object()}}));
        s.client->say(calling(1));
        s.client->end();
        CHECK(s.run());
    }
    CHECK(kept->tool() == "tool");
    CHECK(kept->client().version == "2025-11-25");
    kept->progress(1);
    asio::io_context context;
    auto const answer = test::run<result<mcp::server::elicitation>>(context, kept->elicit("?", {}));
    REQUIRE_FALSE(answer);
    CHECK(answer.error() == condition::cancelled);
}

TEST_CASE("server: ends with its context, in the middle of everything") {
    auto s = std::make_unique<served>(serving([](call_ptr call) -> returned {
        auto const form = nlohmann::ordered_json::parse(R"({"type":"object","properties":{}})");
        (void)co_await call->elicit("?", form);
        co_await rest(1h);
        co_return said("late");
    }));
    s->client->say(initialize("2025-11-25", {{"elicitation", json::object()}}));
    s->client->say(calling(1));
    s->client->say(calling(2));
    asio::co_spawn(s->context, s->server.serve(s->client), [](std::exception_ptr, result<void>) { FAIL("never"); });
    for (int i = 0; i < 4000 && s->client->heard.size() < 3; ++i) s->context.run_for(5ms);
    CHECK(s->client->heard.size() == 3); // both calls wait
    s.reset();
}
