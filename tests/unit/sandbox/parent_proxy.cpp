#include <ipybox/sandbox/parent_proxy_url.hpp>

#include <support/catch.hpp>

#include <string>
#include <vector>

using namespace ipybox;
using detail::parent_proxy_url;

TEST_CASE("parent_proxy_url: host, port and credentials") {
    auto const plain = parent_proxy_url::parse("http://Proxy.Test:3128");
    REQUIRE(plain);
    CHECK(plain->host == "proxy.test");
    CHECK(plain->port == 3128);
    CHECK(plain->credentials.empty());
    auto const with_name = parent_proxy_url::parse("http://me:a%40b%zz@[::1]/");
    REQUIRE(with_name);
    CHECK(with_name->host == "::1");
    CHECK(with_name->port == 80);
    CHECK(with_name->credentials == "me:a@b%zz");
    for (auto const* const wrong : {"", "proxy:3128", "https://proxy", "socks5://proxy", "http://", "http://proxy:0",
                                    "http://proxy:x", "http://proxy:99999", "http://proxy/path", "http://s3cret@"}) {
        INFO(wrong);
        auto const read = parent_proxy_url::parse(wrong);
        REQUIRE_FALSE(read);
        CHECK(read.error() == errc::invalid_argument);
        CHECK(read.error().text().find("s3cret") == std::string::npos);
    }
}

TEST_CASE("parent_proxy_url: the hosts that are reached without it") {
    auto const exceptions = detail::exceptions_in("corp.test, .lan ,*.wide.test,10.0.0.0/8,,::1");
    CHECK(exceptions == std::vector<std::string>{"corp.test", ".lan", "*.wide.test", "10.0.0.0/8", "::1"});
    for (auto const* const host : {"corp.test", "a.corp.test", "a.lan", "b.wide.test", "10.1.2.3", "::1"})
        CHECK(detail::is_exception(exceptions, host));
    for (auto const* const host : {"notcorp.test", "corp.test.example", "11.1.2.3", "::2"})
        CHECK_FALSE(detail::is_exception(exceptions, host));
    CHECK(detail::is_exception({"*"}, "any.test"));
    CHECK(detail::exceptions_in("").empty());
}
