#include <ipybox/async/spawn.hpp>
#include <ipybox/http/loopback_redirect.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/coroutines.hpp>

#include <asio/cancellation_signal.hpp>
#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using asio::awaitable;
using asio::ip::tcp;
using ipybox::errc;
using ipybox::result;
using ipybox::http::loopback_redirect;
using ipybox::test::contains;

namespace {

/// A redirect that is waited for, and a browser.
struct waiting {
    waiting() : redirect(loopback_redirect::open(context.get_executor()).value()) {
        auto const address = redirect.address();
        host = address.substr(7, address.find("/callback") - 7);
        port = static_cast<unsigned short>(std::stoi(host.substr(host.find(':') + 1)));
    }

    void begin(std::chrono::milliseconds bound = 20s) {
        auto keep = [this](std::exception_ptr thrown, result<std::string> value) {
            CHECK_FALSE(thrown);
            outcome = std::move(value);
        };
        ipybox::detail::spawn(context.get_executor(), redirect.wait("st", bound), keep, stop.slot());
    }

    /// Sends bytes and reads until the end.
    std::string send(std::string const& bytes) { return ipybox::test::run(context, exchange(bytes)); }
    std::string get(std::string const& target) {
        return send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    }

    awaitable<std::string> exchange(std::string bytes) {
        tcp::socket socket(context);
        asio::error_code failed;
        tcp::endpoint const to(asio::ip::address_v4::loopback(), port);
        co_await socket.async_connect(to, asio::redirect_error(asio::use_awaitable, failed));
        if (failed) co_return "refused";
        co_await asio::async_write(socket, asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, failed));
        std::string text;
        co_await asio::async_read(socket, asio::dynamic_buffer(text),
                                  asio::redirect_error(asio::use_awaitable, failed));
        co_return text;
    }

    void run_until_outcome() {
        context.restart();
        auto const bound = std::chrono::steady_clock::now() + 20s;
        while (!outcome && std::chrono::steady_clock::now() < bound) context.run_one_for(1s);
        REQUIRE(outcome);
    }

    asio::io_context context;
    loopback_redirect redirect;
    std::string host;
    unsigned short port = 0;
    asio::cancellation_signal stop;
    std::optional<result<std::string>> outcome;
};

} // namespace

TEST_CASE("loopback_redirect: the one redirect") {
    waiting one;
    CHECK(contains(one.redirect.address(), "http://127.0.0.1:"));
    one.begin();
    auto const page = one.get("/callback?code=a%20b&state=st&iss=x");
    CHECK(contains(page, "HTTP/1.1 200 OK\r\n"));
    CHECK(contains(page, "You can close this page."));
    CHECK(contains(page, "Cache-Control: no-store"));
    one.run_until_outcome();
    CHECK(one.outcome->value() == "code=a%20b&state=st&iss=x");
    CHECK(one.get("/callback?code=c&state=st") == "refused");
}

TEST_CASE("loopback_redirect: a refusal of the authorization server, whose text is not shown") {
    waiting one;
    one.begin();
    auto const page = one.get("/callback?error=access_denied&error_description=%3Cscript%3E&state=st");
    CHECK(contains(page, "The authorization server refused the sign-in."));
    CHECK(page.find("script") == std::string::npos);
    one.run_until_outcome();
    CHECK(contains(one.outcome->value(), "error=access_denied"));
}

TEST_CASE("loopback_redirect: requests that are refused do not end the wait") {
    waiting one;
    one.begin();
    auto const host = "\r\nHost: " + one.host + "\r\n\r\n";
    CHECK(contains(one.get("/favicon.ico"), "HTTP/1.1 404"));
    CHECK(contains(one.get("/callback"), "HTTP/1.1 400"));
    CHECK(contains(one.get("/callback/?code=c&state=st"), "HTTP/1.1 404"));
    CHECK(contains(one.get("/callback?code=c&state=other"), "HTTP/1.1 400"));
    CHECK(contains(one.get("/callback?code=c&state=ot&state=st"), "HTTP/1.1 400"));
    CHECK(contains(one.get("http://" + one.host + "/callback?code=c&state=st"), "HTTP/1.1 404"));
    CHECK(contains(one.send("GET /callback?code=c&state=st HTTP/1.1\r\nHost: evil.example\r\n\r\n"), "HTTP/1.1 403"));
    CHECK(contains(one.send("GET /callback?code=c&state=st HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), "HTTP/1.1 403"));
    CHECK(contains(one.send("GET /callback?code=c&state=st HTTP/1.1\r\n\r\n"), "HTTP/1.1 403"));
    CHECK(contains(one.send("GET /callback?code=c&state=st HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), "HTTP/1.1 403"));
    CHECK(contains(one.send("POST /callback?code=c&state=st HTTP/1.1" + host), "HTTP/1.1 405"));
    CHECK(contains(one.send("\x16\x03\x01 TLS\r\n\r\n"), "HTTP/1.1 400"));
    CHECK(contains(one.send("\r\n\r\n"), "HTTP/1.1 400"));
    CHECK(contains(one.send("GET / HTTP/1.1\r\nno colon\r\n\r\n"), "HTTP/1.1 400"));
    CHECK(contains(one.send("GET /callback?" + std::string(20'000, 'x')), "HTTP/1.1 431"));
    REQUIRE_FALSE(one.outcome);
    CHECK(contains(one.get("/callback?code=c&state=st"), "HTTP/1.1 200"));
    one.run_until_outcome();
    CHECK(*one.outcome);
}

TEST_CASE("loopback_redirect: connections on which nothing comes do not hold up the others") {
    waiting one;
    one.begin();
    std::vector<std::unique_ptr<tcp::socket>> silent;
    for (int number = 0; number < 8; ++number) {
        silent.push_back(std::make_unique<tcp::socket>(one.context));
        silent.back()->connect(tcp::endpoint(asio::ip::address_v4::loopback(), one.port));
    }
    CHECK(contains(one.get("/callback?code=c&state=st"), "HTTP/1.1 200"));
    one.run_until_outcome();
    CHECK(*one.outcome);
}

TEST_CASE("loopback_redirect: bounds, cancellation and a port that is taken") {
    waiting late;
    late.begin(50ms);
    late.run_until_outcome();
    CHECK(late.outcome->error() == errc::timed_out);

    waiting cancelled;
    cancelled.begin();
    cancelled.context.run_for(50ms);
    cancelled.stop.emit(asio::cancellation_type::terminal);
    cancelled.run_until_outcome();
    CHECK(cancelled.outcome->error() == errc::cancelled);
    CHECK(cancelled.get("/callback?code=c&state=st") == "refused");

    waiting first;
    auto const second = loopback_redirect::open(first.context.get_executor(), first.port);
    REQUIRE_FALSE(second);
    CHECK(second.error() == errc::io_error);
}
