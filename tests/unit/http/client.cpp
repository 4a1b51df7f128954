#include <ipybox/http/client.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/coroutines.hpp>
#include <support/web_server.hpp>

#include <asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
using asio::awaitable;
using ipybox::errc;
using ipybox::http::client;
using ipybox::http::request;
using ipybox::test::contains;
using ipybox::test::web_answer;
using ipybox::test::web_request;
using ipybox::test::web_server;

request get(std::string url) {
    request wanted;
    wanted.url = std::move(url);
    return wanted;
}

} // namespace

TEST_CASE("client: an answer, and what it was asked with") {
    asio::io_context context;
    web_server server(context, [](web_request const& wanted, web_answer& answer) -> awaitable<void> {
        co_await answer.whole(201, wanted.body, "Text/Plain; charset=utf-8", "X-Field:  a value \r\nx-field: b");
    });
    auto const requests = client::shared();
    CHECK(client::shared() == requests);
    auto wanted = get(server.url("/path?x=1"));
    wanted.method = "PUT";
    wanted.body = std::make_shared<std::string const>("the body");
    wanted.headers.set("X-Mine", "mine");
    wanted.headers.set("X-Empty", "");
    auto const answer = requests->begin(std::move(wanted));
    auto const head = ipybox::test::run(context, answer->head());
    REQUIRE(head);
    CHECK(head->status == 201);
    CHECK(head->media_type() == "text/plain");
    CHECK(head->headers.find("X-FIELD") == "a value");
    CHECK(head->headers.find_all("x-field").size() == 2);
    CHECK(ipybox::test::run(context, answer->read_all(100)) == "the body");
    auto const& came = server.requests.at(0);
    CHECK(came.method == "PUT");
    CHECK(came.target == "/path?x=1");
    CHECK(came.field("x-mine") == "mine");
    CHECK(came.headers.contains("x-empty"));
    CHECK_FALSE(came.headers.contains("expect"));
    server.close();
}

TEST_CASE("client: a body that is larger than it may be") {
    asio::io_context context;
    web_server server(context, [](web_request const&, web_answer& answer) -> awaitable<void> {
        co_await answer.whole(200, std::string(1000, 'x'));
    });
    auto const requests = client::shared();
    auto const answer = requests->begin(get(server.url()));
    auto const whole = ipybox::test::run(context, answer->read_all(999));
    REQUIRE_FALSE(whole);
    CHECK(whole.error() == errc::message_too_large);
    server.close();
}

TEST_CASE("client: an answer that is read slowly holds the server back") {
    constexpr std::size_t size = std::size_t(64) << 20;
    asio::io_context context;
    auto const sent = std::make_shared<std::size_t>(0);
    web_server server(context, [sent](web_request const&, web_answer& answer) -> awaitable<void> {
        co_await answer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n");
        std::string const piece(std::size_t(1) << 20, 'x');
        for (; *sent < size; *sent += piece.size()) co_await answer.send(piece);
    });
    auto const requests = client::shared();
    auto const answer = requests->begin(get(server.url()));
    REQUIRE(ipybox::test::run(context, answer->head()));
    context.restart();
    context.run_for(500ms);
    CHECK(*sent < size / 2);
    auto const whole = ipybox::test::run(context, answer->read_all(size));
    REQUIRE(whole);
    CHECK(whole->size() == size);
    server.close();
}

TEST_CASE("client: answers that are ended, or dropped, close their connections") {
    asio::io_context context;
    auto const open = std::make_shared<int>(0);
    web_server server(context, [open](web_request const&, web_answer& answer) -> awaitable<void> {
        ++*open;
        co_await answer.closed();
        --*open;
    });
    auto const requests = client::shared();
    auto const ended = requests->begin(get(server.url()));
    auto dropped = requests->begin(get(server.url()));
    context.restart();
    for (int i = 0; i < 100 && *open < 2; ++i) context.run_for(20ms);
    REQUIRE(*open == 2);
    ended->end();
    dropped.reset();
    auto const head = ipybox::test::run(context, ended->head());
    REQUIRE_FALSE(head);
    CHECK(head.error() == errc::cancelled);
    context.restart();
    for (int i = 0; i < 100 && *open > 0; ++i) context.run_for(20ms);
    CHECK(*open == 0);
    server.close();
}

TEST_CASE("client: its end ends what is under way") {
    asio::io_context context;
    web_server server(context,
                      [](web_request const&, web_answer& answer) -> awaitable<void> { co_await answer.closed(); });
    auto requests = std::make_shared<client>();
    auto const answer = requests->begin(get(server.url()));
    context.run_for(50ms);
    requests.reset();
    auto const head = ipybox::test::run(context, answer->head());
    REQUIRE_FALSE(head);
    CHECK(head.error() == errc::cancelled);
    server.close();
}

TEST_CASE("client: bounds of time") {
    asio::io_context context;
    web_server server(context,
                      [](web_request const&, web_answer& answer) -> awaitable<void> { co_await answer.closed(); });
    auto wanted = get(server.url());
    wanted.timeout = 100ms;
    auto const requests = client::shared();
    auto const answer = requests->begin(std::move(wanted));
    auto const head = ipybox::test::run(context, answer->head());
    REQUIRE_FALSE(head);
    CHECK(head.error() == errc::timed_out);
    CHECK(contains(head.error().text(), "did not answer in time"));
    server.close();
}

TEST_CASE("client: addresses that no server has") {
    asio::io_context context;
    auto const requests = client::shared();
    for (auto const* const address : {"http://127.0.0.1:1/", "http://nowhere.invalid/", "https://127.0.0.1:1/"}) {
        auto const answer = requests->begin(get(address));
        auto const head = ipybox::test::run(context, answer->head());
        REQUIRE_FALSE(head);
        CHECK(head.error() == errc::mcp_unreachable);
        CHECK(contains(head.error().text(), "cannot be reached: "));
    }
}
