#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/remote_host.hpp>
#include <support/web_server.hpp>

#include <asio/cancellation_signal.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace {

using namespace std::chrono_literals;
using asio::awaitable;
using ipybox::errc;
using ipybox::result;
using ipybox::mcp::call_result;
using ipybox::test::answer_to;
using ipybox::test::contains;
using ipybox::test::echo;
using ipybox::test::initialized;
using ipybox::test::remote_host;
using ipybox::test::web_answer;
using ipybox::test::web_request;
using ipybox::test::web_server;
using ipybox::test::with_sessions;
using nlohmann::json;

std::string repeated(std::string const& piece, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += piece;
    return all;
}

/// A stream of events that has no end, and no length.
awaitable<void> send_for_ever(web_answer& answer, std::string piece) {
    co_await answer.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
    while (answer.is_open()) co_await answer.send(piece);
}

std::string method_of(web_request const& request) {
    auto const message = request.message();
    return message.is_object() ? message.value("method", "") : std::string();
}

} // namespace

TEST_CASE("hostile_server: a stream without end holds up neither other work nor the deadline of its call") {
    auto const lines = GENERATE(std::string(": comment\n\n"), std::string("data\n"), std::string("id: 7\n"),
                                std::string("no line"), std::string("data: {}\n\n"));
    remote_host host(with_sessions([lines](web_request const&, web_answer& answer) -> awaitable<void> {
        co_await send_for_ever(answer, repeated(lines, 10'000));
    }));
    host.params.call_timeout = 500ms;
    auto const begun = std::chrono::steady_clock::now();
    CHECK(contains(host.text_of_call(), "<timed_out> the MCP server 's' did not answer in time"));
    CHECK(std::chrono::steady_clock::now() - begun < 10s);
}

TEST_CASE("hostile_server: a call has its answer while the server's own stream is flooded") {
    auto const flood = GENERATE(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}})",
                                R"({"jsonrpc":"2.0","id":"p","method":"ping"})");
    remote_host host([flood](web_request const& request, web_answer& answer) -> awaitable<void> {
        if (request.method == "GET")
            co_await send_for_ever(answer, repeated("data: " + std::string(flood) + "\n\n", 1000));
        else if (request.message().contains("result"))
            co_await answer.closed(); // takes no answer
        else
            co_await with_sessions (&echo)(request, answer);
    });
    CHECK(host.text_of_call() == "done");
    host.run_for(500ms);
    CHECK(host.text_of_call() == "done");
    auto const is_answer = [](web_request const& each) { return each.message().contains("result"); };
    CHECK(std::count_if(host.server.requests.begin(), host.server.requests.end(), is_answer) <= 128);
}

TEST_CASE("hostile_server: header fields without end") {
    auto const answer_with = GENERATE(std::string("HTTP/1.1 200 OK\r\n") + repeated("X-Field: value\r\n", 50'000),
                                      repeated("HTTP/1.1 100 Continue\r\n\r\n", 20'000));
    remote_host host(with_sessions([answer_with](web_request const&, web_answer& answer) -> awaitable<void> {
        co_await answer.send(answer_with + "\r\n");
        answer.cut();
    }));
    CHECK(contains(host.text_of_call(), "<message_too_large> the MCP server 's' sent header fields of more than"));
}

TEST_CASE("hostile_server: a session that is begun anew without an answer") {
    auto const is_new = std::make_shared<bool>(true);
    auto const is_silent = GENERATE(true, false);
    remote_host host([is_new, is_silent](web_request const& request, web_answer& answer) -> awaitable<void> {
        auto const method = method_of(request);
        if (method == "initialize" && *is_new) {
            auto const begun = answer_to(request.message(), initialized());
            co_await answer.whole(200, begun.dump(), "application/json", "Mcp-Session-Id: s");
        } else if (method == "initialize" && is_silent) {
            co_await answer.closed();
        } else if (method == "initialize") {
            co_await answer.whole(200, "no message");
        } else if (method == "notifications/initialized") {
            *is_new = false;
            co_await answer.whole(202, "");
        } else {
            co_await answer.whole(404, "gone", "text/plain");
        }
    });
    host.params.connect_timeout = 300ms;
    if (is_silent) {
        CHECK(contains(host.text_of_call(), "did not answer in time"));
        *is_new = true; // others were not held up for ever
        CHECK(contains(host.text_of_call(), "answered with the status 404 of HTTP"));
    } else {
        CHECK(contains(host.text_of_call(), "has forgotten the session, and began none of the same version anew"));
    }
}

TEST_CASE("hostile_server: the confirmation of a session is not taken") {
    remote_host host([](web_request const& request, web_answer& answer) -> awaitable<void> {
        if (method_of(request) == "notifications/initialized")
            co_await answer.closed();
        else
            co_await with_sessions (&echo)(request, answer);
    });
    host.params.connect_timeout = 300ms;
    CHECK(host.text_of_call() == "done");
}

TEST_CASE("hostile_server: streams that end at once are asked for again with waits that grow") {
    remote_host host([](web_request const& request, web_answer& answer) -> awaitable<void> {
        if (request.method == "GET") {
            co_await answer.begin_events();
            co_await answer.event("retry: 0");
            co_await answer.end_events();
        } else {
            co_await with_sessions (&echo)(request, answer);
        }
    });
    CHECK(host.text_of_call() == "done");
    host.run_for(1s);
    auto const is_get = [](web_request const& each) { return each.method == "GET"; };
    CHECK(std::count_if(host.server.requests.begin(), host.server.requests.end(), is_get) <= 4);
}

TEST_CASE("hostile_server: a call that is cancelled while its stream waits to be resumed is not resumed") {
    remote_host host(with_sessions([](web_request const&, web_answer& answer) -> awaitable<void> {
        co_await answer.begin_events();
        co_await answer.event("retry: 300\nid: e1\ndata:");
        co_await answer.end_events();
    }));
    std::optional<result<call_result>> outcome;
    asio::cancellation_signal stop;
    host.begin(outcome, stop.slot());
    host.run_for(150ms);
    REQUIRE(host.posted("tools/call").size() == 1);
    stop.emit(asio::cancellation_type::terminal);
    host.run_until(outcome);
    host.run_for(600ms);
    auto const resumes = [](web_request const& each) { return !each.field("last-event-id").empty(); };
    CHECK(std::none_of(host.server.requests.begin(), host.server.requests.end(), resumes));
}

TEST_CASE("hostile_server: servers that are killed leave calls stopped") {
    remote_host host(with_sessions([](web_request const&, web_answer& answer) -> awaitable<void> {
        co_await answer.closed(); // says nothing
    }));
    std::optional<result<call_result>> outcome;
    host.begin(outcome);
    host.run_for(200ms);
    REQUIRE_FALSE(outcome);
    host.kill();
    host.run_until(outcome);
    CHECK((*outcome).error() == errc::not_running);
}

TEST_CASE("hostile_server: an answer without a status") {
    remote_host host(with_sessions([](web_request const&, web_answer& answer) -> awaitable<void> {
        co_await answer.send("HTTP/1.1 103 Early Hints\r\n\r\n");
        answer.cut();
    }));
    host.params.call_timeout = 2s;
    auto const said = host.text_of_call();
    INFO(said);
    CHECK_FALSE(contains(said, "<timed_out>"));
}
