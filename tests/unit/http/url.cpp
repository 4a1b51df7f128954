#include <ipybox/http/url.hpp>

#include <support/catch.hpp>

#include <string>
#include <string_view>

using ipybox::errc;
using ipybox::http::url;

TEST_CASE("url: its parts") {
    auto const read = url::parse("HTTPS://me:secret@API.Example.com/a/../mcp?key=1#part");
    REQUIRE(read);
    CHECK(read->scheme() == "https");
    CHECK(read->host() == "api.example.com");
    CHECK(read->port() == "443");
    CHECK(read->path() == "/mcp");
    CHECK(read->origin() == "https://api.example.com");
    CHECK(read->public_text() == "https://api.example.com/mcp");
    CHECK(read->text() == "https://me:secret@api.example.com/mcp?key=1");
    auto const of_address = url::parse("http://[::1]:8080");
    REQUIRE(of_address);
    CHECK(of_address->host() == "::1");
    CHECK(of_address->origin() == "http://[::1]:8080");
    CHECK(of_address->path() == "/");
}

TEST_CASE("url: what cannot be used, which is not quoted") {
    for (auto const* const text :
         {"", "mcp", "/mcp", "ftp://host/", "file:///etc/passwd", "http://", "http://host:99999/", "http://a b/",
          "http://host/\r\nX: y", "javascript:alert(1)"}) {
        auto const read = url::parse(text);
        INFO(text);
        REQUIRE_FALSE(read);
        CHECK(read.error() == errc::invalid_argument);
        CHECK(read.error().text().find("passwd") == std::string::npos);
    }
}

TEST_CASE("url: references") {
    auto const base = url::parse("http://host:1/api/sse?x=1").value();
    auto const at = [&base](std::string_view reference) {
        auto const found = base.resolve(reference);
        return found ? found->text() : std::string(found.error().text());
    };
    CHECK(at("/messages?id=2") == "http://host:1/messages?id=2");
    CHECK(at("messages") == "http://host:1/api/messages");
    CHECK(at("?y=2") == "http://host:1/api/sse?y=2");
    CHECK(at("//other/x") == "http://other/x");
    CHECK(at("https://other/x") == "https://other/x");
    CHECK(at("ftp://other/x") == "its `url` cannot be used: it has to begin with http:// or https://");
}

TEST_CASE("url: addresses of this machine") {
    auto const is_loopback = [](std::string_view text) { return url::parse(text).value().is_loopback(); };
    CHECK(is_loopback("http://localhost:1/"));
    CHECK(is_loopback("http://127.0.0.1/"));
    CHECK(is_loopback("http://127.8.9.1/"));
    CHECK(is_loopback("http://[::1]/"));
    CHECK_FALSE(is_loopback("http://127.0.0.1.example.com/"));
    CHECK_FALSE(is_loopback("http://localhost.example.com/"));
    CHECK_FALSE(is_loopback("http://10.0.0.1/"));
}
