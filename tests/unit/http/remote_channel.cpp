#include <ipybox/http/remote_channel.hpp>
#include <ipybox/mcp/server_registry.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/remote_host.hpp>
#include <support/web_server.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using asio::awaitable;
using ipybox::errc;
using ipybox::result;
using ipybox::mcp::call_result;
using ipybox::mcp::server_params;
using ipybox::test::answer_to;
using ipybox::test::contains;
using ipybox::test::echo;
using ipybox::test::initialized;
using ipybox::test::remote_host;
using ipybox::test::text;
using ipybox::test::web_answer;
using ipybox::test::web_request;
using ipybox::test::web_server;
using ipybox::test::with_sessions;
using nlohmann::json;

// Made outside of coroutines: GCC 12 takes no lists in braces there.
json refusal_of(json const& message, int code, std::string const& why) {
    return {{"jsonrpc", "2.0"}, {"id", message["id"]}, {"error", {{"code", code}, {"message", why}}}};
}

json discovered() {
    return {{"resultType", "complete"},
            {"supportedVersions", json::array({"2026-07-28"})},
            {"capabilities", {{"tools", json::object()}}}};
}

/// Two tools, of which one names a header field as it must not.
json tools_with_fields() {
    json const region = {{"type", "string"}, {"x-mcp-header", "Region"}};
    json const number = {{"type", "number"}, {"x-mcp-header", "N"}};
    json const tool = {{"name", "t"}, {"inputSchema", {{"type", "object"}, {"properties", {{"a", region}}}}}};
    json const wrong = {{"name", "w"}, {"inputSchema", {{"type", "object"}, {"properties", {{"a", number}}}}}};
    return {{"tools", json::array({tool, wrong})}};
}

json ping() { return {{"jsonrpc", "2.0"}, {"id", "p1"}, {"method", "ping"}}; }

json with_id(json const& id) { return {{"id", id}}; }

} // namespace

TEST_CASE("remote_channel: a session with its fields, and its end") {
    std::vector<web_request> requests;
    {
        remote_host host(with_sessions(&echo));
        host.params.headers["X-Key"] = "value";
        CHECK(host.text_of_call() == "done");
        CHECK(host.text_of_call() == "done");
        auto const first = host.posted("initialize").at(0);
        CHECK(first.field("accept") == "application/json, text/event-stream");
        CHECK(first.field("content-type") == "application/json");
        CHECK(first.field("mcp-session-id").empty());
        auto const called = host.posted("tools/call").at(1);
        CHECK(called.field("mcp-session-id") == "s-1");
        CHECK(called.field("mcp-protocol-version") == "2025-11-25");
        CHECK(called.field("x-key") == "value");
        CHECK(called.field("mcp-method").empty());
        CHECK(host.posted("initialize").size() == 1);
        CHECK(host.server.connections <= 3); // they are kept
        host.context.restart();
        host.run_for(100ms);
        requests = host.server.requests;
    }
    CHECK(requests.size() >= 5);
}

TEST_CASE("remote_channel: 2026-07-28, without a session") {
    remote_host host([](web_request const& request, web_answer& answer) -> awaitable<void> {
        auto const message = request.message();
        auto const method = message.value("method", "");
        if (method == "initialize") {
            co_await answer.whole(404, refusal_of(message, -32601, "no").dump());
        } else if (method == "server/discover") {
            co_await answer.whole(200, answer_to(message, discovered()).dump());
        } else if (method == "tools/list") {
            co_await answer.whole(200, answer_to(message, tools_with_fields()).dump());
        } else {
            co_await answer.begin_events();
            co_await answer.message(answer_to(message, text("over a stream")));
            co_await answer.end_events();
        }
    });
    CHECK(host.text_of_call() == "over a stream");
    auto const called = host.posted("tools/call").at(0);
    CHECK(called.field("mcp-protocol-version") == "2026-07-28");
    CHECK(called.field("mcp-method") == "tools/call");
    CHECK(called.field("mcp-name") == "t");
    CHECK(called.field("mcp-session-id").empty());
    CHECK(host.posted("server/discover").at(0).field("mcp-method") == "server/discover");
}

TEST_CASE("remote_channel: the list of tools is read where the header fields of a call are not the server's") {
    auto const may_succeed = GENERATE(true, false);
    remote_host host([may_succeed](web_request const& request, web_answer& answer) -> awaitable<void> {
        auto const message = request.message();
        auto const method = message.value("method", "");
        if (method == "server/discover") {
            co_await answer.whole(200, answer_to(message, discovered()).dump());
        } else if (method == "tools/list") {
            co_await answer.whole(200, answer_to(message, tools_with_fields()).dump());
        } else if (request.field("mcp-param-region") == "1" && may_succeed) {
            co_await answer.whole(200, answer_to(message, text("with fields")).dump());
        } else {
            co_await answer.whole(400, refusal_of(message, -32020, "where is Region").dump());
        }
    });
    host.params.versions = server_params::negotiation::stateless_only;
    host.argument = "1";
    if (may_succeed)
        CHECK(host.text_of_call() == "with fields");
    else
        CHECK(contains(host.text_of_call(), "<mcp_refused> the MCP server 's' refused `tools/call`: where is Region"));
    CHECK(host.posted("tools/list").size() == 1);
    auto const calls = host.posted("tools/call");
    REQUIRE(calls.size() == 2);
    CHECK(calls[0].field("mcp-param-region").empty());
    CHECK(calls[1].field("mcp-param-region") == "1");
    CHECK(calls[0].message()["id"] != calls[1].message()["id"]);
}

TEST_CASE("remote_channel: HTTP+SSE, where the server does not understand Streamable HTTP") {
    auto const stream = std::make_shared<web_answer*>(nullptr);
    auto const is_named = GENERATE(false, true);
    remote_host host(
        [stream](web_request const& request, web_answer& answer) -> awaitable<void> {
            if (request.method == "GET") {
                co_await answer.begin_events();
                *stream = &answer;
                co_await answer.event("event: endpoint\ndata: /messages?id=7");
                co_await answer.closed();
                *stream = nullptr;
            } else if (request.target != "/messages?id=7") {
                co_await answer.whole(404, "no such page", "text/plain");
            } else {
                co_await answer.whole(202, "Accepted", "text/plain");
                auto const message = request.message();
                if (!message.contains("id")) co_return;
                auto what = text("by events");
                if (message["method"] == "initialize") what = initialized("2024-11-05");
                co_await (*stream)->message(answer_to(message, what));
            }
        },
        is_named ? "/sse" : "/api");
    CHECK(host.text_of_call() == "by events");
    CHECK(host.text_of_call() == "by events");
    CHECK(host.posted("initialize").size() == (is_named ? 1 : 2));
}

TEST_CASE("remote_channel: a session that the server has forgotten is begun anew") {
    auto const sessions = std::make_shared<int>(0);
    remote_host host([sessions](web_request const& request, web_answer& answer) -> awaitable<void> {
        auto const message = request.message();
        auto const method = message.is_object() ? message.value("method", "") : std::string();
        auto const current = "s-" + std::to_string(*sessions);
        if (request.method != "POST") {
            co_await answer.whole(405, "");
        } else if (method == "initialize") {
            ++*sessions;
            co_await answer.begin_events("Mcp-Session-Id: s-" + std::to_string(*sessions));
            co_await answer.event("id: 1\ndata:"); // as servers begin a stream
            co_await answer.message(answer_to(message, initialized()));
            co_await answer.end_events();
        } else if (request.field("mcp-session-id") != current) {
            co_await answer.whole(404, R"({"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"}})");
        } else if (!message.contains("id")) {
            co_await answer.whole(202, "");
        } else {
            co_await answer.whole(200, answer_to(message, text(current)).dump());
        }
    });
    CHECK(host.text_of_call() == "s-1");
    *sessions = 7; // as after a restart
    std::optional<result<call_result>> first;
    std::optional<result<call_result>> second;
    host.begin(first);
    host.begin(second);
    host.run_until(first);
    host.run_until(second);
    CHECK((*first)->text() == "s-8");
    CHECK((*second)->text() == "s-8");
    CHECK(host.posted("initialize").size() == 2);
}

TEST_CASE("remote_channel: a session that is refused for ever") {
    remote_host host([](web_request const& request, web_answer& answer) -> awaitable<void> {
        auto const message = request.message();
        auto const method = message.is_object() ? message.value("method", "") : std::string();
        auto const field = std::string("Mcp-Session-Id: s");
        if (method == "initialize")
            co_await answer.whole(200, answer_to(message, initialized()).dump(), "application/json", field);
        else if (message.is_object() && !message.contains("id"))
            co_await answer.whole(202, "");
        else
            co_await answer.whole(404, "gone", "text/plain");
    });
    CHECK(contains(host.text_of_call(), "<mcp_refused> the MCP server 's' answered with the status 404 of HTTP"));
    CHECK(host.posted("initialize").size() == 2);
}

TEST_CASE("remote_channel: a stream that breaks off is resumed behind the last event") {
    remote_host host(with_sessions([](web_request const& request, web_answer& answer) -> awaitable<void> {
        (void)request;
        co_await answer.begin_events();
        co_await answer.event("retry: 20\nid: e1\ndata:");
        co_await answer.end_events();
    }));
    auto const id = std::make_shared<json>();
    remote_host resumed([id](web_request const& request, web_answer& answer) -> awaitable<void> {
        auto const message = request.message();
        auto const method = message.is_object() ? message.value("method", "") : std::string();
        if (method == "initialize") {
            co_await answer.whole(200, answer_to(message, initialized()).dump());
        } else if (method == "tools/call") {
            *id = message["id"];
            co_await answer.begin_events();
            co_await answer.event("retry: 20\nid: e1\ndata:");
            answer.cut();
        } else if (request.field("last-event-id") == "e1") {
            co_await answer.begin_events();
            co_await answer.message(answer_to(with_id(*id), text("resumed")), "id: e2\n");
            co_await answer.end_events();
        } else if (request.method == "GET") {
            co_await answer.whole(405, "");
        } else {
            co_await answer.whole(202, "");
        }
    });
    CHECK(resumed.text_of_call() == "resumed");
    CHECK(contains(host.text_of_call(), "<mcp_refused> the MCP server 's' answered with the status 405 of HTTP"));
}

TEST_CASE("remote_channel: a stream that can be resumed for ever, and has no answer") {
    auto const tries = std::make_shared<int>(0);
    remote_host host([tries](web_request const& request, web_answer& answer) -> awaitable<void> {
        auto const message = request.message();
        bool const is_call = message.is_object() && message.value("method", "") == "tools/call";
        if (is_call || !request.field("last-event-id").empty()) {
            ++*tries;
            co_await answer.begin_events();
            co_await answer.event("retry: 5\nid: " + std::to_string(*tries) + "\ndata:");
            co_await answer.end_events();
        } else {
            co_await with_sessions (&echo)(request, answer);
        }
    });
    CHECK(
        contains(host.text_of_call(), "<mcp_refused> the MCP server 's' ended its stream of events without an answer"));
    CHECK(*tries == 6);
}

TEST_CASE("remote_channel: a server that does not end its streams") {
    auto const open = std::make_shared<int>(0);
    remote_host host(with_sessions([open](web_request const& request, web_answer& answer) -> awaitable<void> {
        ++*open;
        co_await answer.begin_events();
        co_await answer.message(answer_to(request.message(), text("done")));
        co_await answer.closed();
        --*open;
    }));
    CHECK(host.text_of_call() == "done");
    CHECK(host.text_of_call() == "done");
    CHECK(*open == 2);
    for (int i = 0; i < 100 && *open > 0; ++i) host.run_for(100ms);
    CHECK(*open == 0);
}

TEST_CASE("remote_channel: answers that are none") {
    struct {
        int status;
        std::string body;
        std::string type;
        std::string expected;
    } const cases[] = {
        {200, "<html>", "text/html",
         "<protocol_error> the MCP server 's' answered with the status 200 of HTTP and text/html"},
        {200, "", "application/json", "<protocol_error> the MCP server 's' answered with the status 200 of HTTP"},
        {200, R"({"jsonrpc":"2.0","id":999,"result":{}})", "application/json", "<protocol_error>"},
        {202, "", "text/plain", "<protocol_error>"},
        {401, "who are you\nsecret", "text/plain", "<mcp_unauthorized> the MCP server 's' wants a sign-in (401)"},
        {403, "no", "text/plain", "<mcp_unauthorized> the MCP server 's' refuses access (403)"},
        {500, "broken\nstack", "text/plain",
         "<mcp_refused> the MCP server 's' answered with the status 500 of HTTP; it said: broken"},
        {301, "", "text/plain", "<mcp_refused> the MCP server 's' answered with the status 301 of HTTP"},
        {400, R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"my reason"}})", "application/json",
         "<mcp_refused> the MCP server 's' refused `tools/call`: my reason (-32000)"},
    };
    for (auto const& one : cases) {
        remote_host host(with_sessions([&one](web_request const&, web_answer& answer) -> awaitable<void> {
            co_await answer.whole(one.status, one.body, one.type);
        }));
        INFO(one.status << " " << one.body);
        auto const said = host.text_of_call();
        CHECK(contains(said, one.expected));
        CHECK(said.find("Exception") == std::string::npos);
        CHECK(host.text_of_call() == said); // the channel goes on
    }
}

TEST_CASE("remote_channel: redirects are followed within the server, and nowhere else") {
    auto const to = std::make_shared<std::string>("/elsewhere");
    auto const handle = [to](web_request const& request, web_answer& answer) -> awaitable<void> {
        auto const field = std::string("Location: " + *to);
        if (request.target == "/mcp" && request.method == "POST")
            co_await answer.whole(307, "", "text/plain", field);
        else
            co_await with_sessions (&echo)(request, answer);
    };
    {
        remote_host host(handle);
        CHECK(host.text_of_call() == "done");
        CHECK(host.posted("tools/call").at(0).target == "/elsewhere");
    }
    for (auto const* const other :
         {"http://169.254.169.254/latest/meta-data", "//other.invalid/", "ftp://x/", "/mcp"}) {
        *to = other;
        remote_host host(handle);
        INFO(other);
        bool const is_circle = *to == "/mcp";
        auto const* const expected =
            is_circle ? "answered with the status 307 of HTTP" : "leads to another server, which is not followed";
        CHECK(contains(host.text_of_call(), expected));
    }
}

TEST_CASE("remote_channel: a call that is cancelled ends at the server") {
    auto const is_closed = std::make_shared<bool>(false);
    remote_host host(with_sessions([is_closed](web_request const&, web_answer& answer) -> awaitable<void> {
        co_await answer.begin_events();
        co_await answer.closed();
        *is_closed = true;
    }));
    std::optional<result<call_result>> outcome;
    asio::cancellation_signal stop;
    host.begin(outcome, stop.slot());
    host.run_for(300ms);
    REQUIRE(host.posted("tools/call").size() == 1);
    REQUIRE_FALSE(outcome);
    stop.emit(asio::cancellation_type::terminal);
    host.run_until(outcome);
    CHECK((*outcome).error() == errc::cancelled);
    host.run_for(300ms);
    CHECK(*is_closed);
    auto const told = host.posted("notifications/cancelled");
    REQUIRE(told.size() == 1);
    CHECK(told[0].message()["params"]["requestId"] == host.posted("tools/call")[0].message()["id"]);
}

TEST_CASE("remote_channel: a server that is down, slow or cut off fails one call, and is found again") {
    auto const how = std::make_shared<std::string>("cut");
    remote_host host(with_sessions([how](web_request const& request, web_answer& answer) -> awaitable<void> {
        if (*how == "cut") {
            co_await answer.send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"js");
            answer.cut();
        } else if (*how == "garbage") {
            co_await answer.send("\x16\x03\x01\x02 this is not HTTP\r\n\r\n");
            answer.cut();
        } else if (*how == "silent") {
            co_await answer.closed();
        } else {
            co_await echo(request, answer);
        }
    }));
    host.params.call_timeout = 500ms;
    CHECK(contains(host.text_of_call(), "<mcp_unreachable> the MCP server 's' cannot be reached"));
    *how = "garbage";
    CHECK(contains(host.text_of_call(), "<mcp_unreachable> the MCP server 's' cannot be reached"));
    *how = "silent";
    CHECK(contains(host.text_of_call(), "<timed_out> the MCP server 's' did not answer in time"));
    *how = "well";
    CHECK(host.text_of_call() == "done");
    remote_host other(with_sessions(&echo));
    other.params.url = "http://127.0.0.1:1/mcp";
    CHECK(contains(other.text_of_call(), "<mcp_unreachable> the MCP server 's' cannot be reached"));
    remote_host nowhere(with_sessions(&echo));
    nowhere.params.url = "no address";
    CHECK(contains(nowhere.text_of_call(), "<invalid_argument> the MCP server 's' its `url` cannot be used"));
}

TEST_CASE("remote_channel: the server speaks on a stream of its own") {
    auto const asked = std::make_shared<bool>(false);
    remote_host host([asked](web_request const& request, web_answer& answer) -> awaitable<void> {
        auto const message = request.message();
        if (request.method == "GET") {
            co_await answer.begin_events();
            co_await answer.message(ping());
            co_await answer.closed();
        } else {
            *asked = *asked || (message.value("id", json()) == "p1" && message.contains("result"));
            co_await with_sessions (&echo)(request, answer);
        }
    });
    CHECK(host.text_of_call() == "done");
    host.run_for(300ms);
    CHECK(*asked);
    auto const& all = host.server.requests;
    auto const by_method = [](web_request const& each) { return each.method == "GET"; };
    auto const by_name = [](web_request const& each) { return each.body.find("tools/call") != std::string::npos; };
    CHECK(std::find_if(all.begin(), all.end(), by_method) <
          std::find_if(all.begin(), all.end(), by_name)); // nothing said there is missed
}
