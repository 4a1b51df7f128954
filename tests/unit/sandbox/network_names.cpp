#include <ipybox/sandbox/network_host.hpp>
#include <ipybox/sandbox/public_address.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <support/catch.hpp>

#include <string>
#include <string_view>

namespace {

using address_range = ipybox::sandbox_config::address_range;
using domain_pattern = ipybox::sandbox_config::domain_pattern;
using ipybox::normal_host;
using ipybox::detail::is_public;
using namespace std::string_literals;

std::string host_of(std::string_view written) { return normal_host(written).value_or("none"); }

bool allows(std::string_view pattern, std::string_view written, std::uint16_t port = 443) {
    auto const parsed = domain_pattern::parse(pattern);
    REQUIRE(parsed);
    return parsed->matches(normal_host(written).value(), port);
}

std::string why_not(std::string_view pattern) {
    auto const parsed = domain_pattern::parse(pattern);
    return parsed ? "" : parsed.error().text();
}

bool is_in(std::string_view range, std::string const& address) {
    return address_range::parse(range).value().contains(asio::ip::make_address(address));
}

} // namespace

TEST_CASE("normal_host: case, a dot at the end and the spelling of addresses do not count") {
    CHECK(host_of("Example.ORG") == "example.org");
    CHECK(host_of("example.org.") == "example.org");
    CHECK(host_of("localhost") == "localhost");
    CHECK(host_of("xn--bcher-kva.example") == "xn--bcher-kva.example");
    CHECK(host_of("a_b.example.org") == "a_b.example.org");
    CHECK(host_of("192.0.2.1") == "192.0.2.1");
    CHECK(host_of("[2001:DB8:0::1]") == "2001:db8::1");
    CHECK(host_of("2001:db8::1") == "2001:db8::1");
    CHECK(host_of("[::ffff:127.0.0.1]") == "127.0.0.1");
    CHECK(host_of("1.example.org") == "1.example.org");
    CHECK(host_of(std::string(63, 'a') + ".org") == std::string(63, 'a') + ".org");
}

TEST_CASE("normal_host: refuses what a resolver may read otherwise than a list does") {
    for (auto const& written : {"evil.org\0.example.org"s,
                                "evil.org%00.example.org"s,
                                "user@example.org"s,
                                "a b"s,
                                "a\r\nb"s,
                                "a#b"s,
                                "a/b"s,
                                "a:80"s,
                                ""s,
                                "."s,
                                "a..b"s,
                                ".example.org"s,
                                "example.org.."s,
                                "[example.org]"s,
                                "[127.0.0.1]"s,
                                "[::1"s,
                                "::1%eth0"s,
                                "[fe80::1%25eth0]"s,
                                "2130706433"s,
                                "0x7f000001"s,
                                "0x7f.1"s,
                                "127.1"s,
                                "0177.0.0.1"s,
                                "127.0.0.1."s,
                                "1.2.3.4.5"s,
                                "256.0.0.1"s,
                                "example.0x10"s,
                                "b\xc3\xbc"
                                "cher.example"s,
                                "\xff"s})
        CHECK(host_of(written) == "none");
    CHECK(host_of(std::string(64, 'a') + ".org") == "none");
    std::string longest;
    while (longest.size() < 250) longest += "abcde.";
    CHECK(host_of(longest + "f") == longest + "f");
    CHECK(host_of(longest + "abcdef") == "none");
}

TEST_CASE("domain_pattern: a name is that host, a star everything below it") {
    CHECK(allows("example.org", "example.org"));
    CHECK(allows("Example.org", "EXAMPLE.ORG."));
    CHECK_FALSE(allows("example.org", "www.example.org"));
    CHECK_FALSE(allows("example.org", "notexample.org"));
    CHECK(allows("*.example.org", "www.example.org"));
    CHECK(allows("*.example.org", "a.b.example.org"));
    CHECK_FALSE(allows("*.example.org", "example.org"));
    CHECK_FALSE(allows("*.example.org", "notexample.org"));
    CHECK_FALSE(allows("*.example.org", "example.org.evil.net"));
    CHECK(allows("192.0.2.1", "192.0.2.1"));
    CHECK(allows("[2001:db8::1]", "2001:db8:0:0::1"));
    CHECK(allows("localhost", "localhost"));
}

TEST_CASE("domain_pattern: a port restricts it") {
    CHECK(allows("example.org:443", "example.org", 443));
    CHECK_FALSE(allows("example.org:443", "example.org", 80));
    CHECK(allows("*.example.org:8443", "www.example.org", 8443));
    CHECK_FALSE(allows("*.example.org:8443", "www.example.org", 443));
    CHECK(allows("[2001:db8::1]:443", "2001:db8::1", 443));
    CHECK_FALSE(allows("[2001:db8::1]:443", "2001:db8::1", 80));
}

TEST_CASE("domain_pattern: what is too broad or no host is an error that quotes it") {
    CHECK(why_not("*") ==
          "the host \"*\" cannot be used: * would be every host; name them, as example.org or *.example.org");
    CHECK(why_not("*.org") == "the host \"*.org\" cannot be used: it needs two labels, as example.org");
    CHECK(why_not("intranet") == "the host \"intranet\" cannot be used: it needs two labels, as example.org");
    CHECK(why_not("::1") ==
          "the host \"::1\" cannot be used: an IPv6 address stands in brackets, as [::1] or [::1]:443");
    CHECK(why_not("http://example.org/") ==
          "the host \"http://example.org/\" cannot be used: a host's name is wanted, as example.org, *.example.org or "
          "example.org:443, not a URL");
    CHECK(why_not("example.org:0") == "the host \"example.org:0\" cannot be used: a port is a number from 1 to 65535");
    for (auto const* const wrong :
         {"", "https://example.org", "example.org/path", "a.*.example.org", "ex*mple.org", "**.example.org",
          "*example.org", "example.org:", "example.org:65536", "example.org:080", "example.org:+80",
          "example.org:443.evil.org", "*.1.2.3.4", "*.[::1]", "[::1]x", "[::1", "*:80", "*.localhost"})
        CHECK(why_not(wrong) != "");
}

TEST_CASE("domain_pattern: lists of what is denied may name every host") {
    CHECK(domain_pattern::parse_denied("*")->matches("example.org", 80));
    CHECK(domain_pattern::parse_denied("*:80")->matches("example.org", 80));
    CHECK_FALSE(domain_pattern::parse_denied("*:80")->matches("example.org", 443));
    CHECK(domain_pattern::parse_denied("*.example.org")->text() == "*.example.org");
    CHECK_FALSE(domain_pattern::parse_denied("**"));
}

TEST_CASE("address_range: a network, or one address") {
    CHECK(is_in("10.0.0.0/8", "10.255.0.1"));
    CHECK_FALSE(is_in("10.0.0.0/8", "11.0.0.1"));
    CHECK(is_in("10.1.2.3/8", "10.9.9.9"));
    CHECK(is_in("192.168.1.10", "192.168.1.10"));
    CHECK_FALSE(is_in("192.168.1.10", "192.168.1.11"));
    CHECK(is_in("10.0.0.0/8", "::ffff:10.1.1.1"));
    CHECK(is_in("0.0.0.0/0", "203.0.113.1"));
    CHECK(is_in("fc00::/7", "fd00::1"));
    CHECK_FALSE(is_in("fc00::/7", "fe80::1"));
    CHECK_FALSE(is_in("::/0", "10.0.0.1"));
    for (auto const* const wrong :
         {"", "10.0.0.0/33", "10.0.0/8", "fc00::/129", "10.0.0.0/", "example.org", "fe80::1%1"})
        CHECK_FALSE(address_range::parse(wrong));
}

TEST_CASE("is_public: this machine and the networks around it are not") {
    for (auto const* const inside : {"127.0.0.1",
                                     "127.255.255.254",
                                     "0.0.0.0",
                                     "10.0.0.1",
                                     "172.16.0.1",
                                     "172.31.255.255",
                                     "192.168.0.1",
                                     "169.254.169.254",
                                     "100.64.0.1",
                                     "224.0.0.1",
                                     "255.255.255.255",
                                     "198.18.0.1",
                                     "::",
                                     "::1",
                                     "fe80::1",
                                     "fc00::1",
                                     "fd00:ec2::254",
                                     "ff02::1",
                                     "::ffff:127.0.0.1",
                                     "::ffff:169.254.169.254",
                                     "64:ff9b::7f00:1",
                                     "64:ff9b::a9fe:a9fe",
                                     "2002:7f00:1::",
                                     "2002:a00:1::1",
                                     "2001:db8::1"})
        CHECK_FALSE(is_public(asio::ip::make_address(inside)));
    for (auto const* const outside :
         {"1.1.1.1", "8.8.8.8", "172.15.255.255", "172.32.0.1", "100.63.255.255", "2606:4700::1111", "2a00:1450::1",
          "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8"})
        CHECK(is_public(asio::ip::make_address(outside)));
}
