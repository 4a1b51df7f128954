#include <ipybox/network/proxy_handshake.hpp>

#include <support/catch.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace {

using namespace ipybox::detail;
using namespace std::string_literals;

/// What a client that sends this and nothing else gets.
proxy_handshake::step step_for(std::string_view sent) {
    proxy_handshake handshake;
    return handshake.feed(sent);
}

std::optional<proxy_request> request_in(std::string_view sent) {
    auto const step = step_for(sent);
    auto const* wanted = std::get_if<proxy_request>(&step);
    return wanted ? std::optional(*wanted) : std::nullopt;
}

std::string why_not(std::string_view sent) {
    auto const step = step_for(sent);
    auto const* refused = std::get_if<proxy_handshake::malformed>(&step);
    return refused ? refused->why : "";
}

std::string connect(std::string_view target) {
    return std::string("CONNECT ").append(target).append(" HTTP/1.1\r\nHost: other.example\r\n\r\n");
}

std::string get(std::string_view target, std::string_view headers = "") {
    return std::string("GET ").append(target).append(" HTTP/1.1\r\n").append(headers).append("\r\n");
}

/// A SOCKS5 client's request for a name, sent behind its greeting.
std::string socks_name(std::string_view name, std::string_view port = "\x01\xbb") {
    return "\x05\x01\x00\x03"s.append(1, static_cast<char>(name.size())).append(name).append(port);
}

proxy_handshake::step socks_step(std::string_view request) {
    proxy_handshake handshake;
    auto const greeting = handshake.feed("\x05\x01\x00"s);
    REQUIRE(std::get<proxy_handshake::reply>(greeting).bytes == "\x05\x00"s);
    return handshake.feed(request);
}

std::optional<std::string> socks_host(std::string_view request) {
    auto const step = socks_step(request);
    auto const* wanted = std::get_if<proxy_request>(&step);
    return wanted ? std::optional(wanted->host + ":" + std::to_string(wanted->port)) : std::nullopt;
}

} // namespace

TEST_CASE("proxy_handshake: CONNECT names host and port, and the Host header is nothing") {
    auto const wanted = request_in(connect("Example.ORG.:443"));
    REQUIRE(wanted);
    CHECK(wanted->protocol == proxy_protocol::connect);
    CHECK(wanted->host == "example.org");
    CHECK(wanted->port == 443);
    CHECK(request_in(connect("[2606:4700::1]:8443"))->host == "2606:4700::1");
}

TEST_CASE("proxy_handshake: a request with a whole URL is sent on in the form of the server") {
    auto const wanted = request_in(get("http://Example.org:8080/a/b?c=d",
                                       "Host: evil.example\r\nUser-Agent: test\r\nProxy-Connection: keep-alive\r\n"
                                       "Proxy-Authorization: Basic c2VjcmV0\r\nConnection: X-Hop, keep-alive\r\n"
                                       "X-Hop: 1\r\nUpgrade: h2c\r\nAccept: */*\r\n"));
    REQUIRE(wanted);
    CHECK(wanted->protocol == proxy_protocol::http);
    CHECK(wanted->host == "example.org");
    CHECK(wanted->port == 8080);
    CHECK(wanted->head == "GET /a/b?c=d HTTP/1.1\r\nHost: example.org:8080\r\nUser-Agent: test\r\nAccept: */*\r\n"
                          "Connection: close\r\n\r\n");
    CHECK(request_in(get("http://example.org"))->port == 80);
    CHECK(request_in(get("http://example.org?q"))->head.starts_with("GET /?q HTTP/1.1\r\nHost: example.org\r\n"));
    CHECK(request_in(get("http://[2606:4700::1]/"))->head.find("Host: [2606:4700::1]\r\n") != std::string::npos);
}

TEST_CASE("proxy_handshake: bytes may come one by one, and what is behind the head is the server's") {
    auto const sent = "POST http://example.org/up HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"s;
    proxy_handshake handshake;
    std::optional<proxy_request> wanted;
    std::string behind;
    for (char const& byte : sent) {
        if (wanted) {
            behind += byte;
            continue;
        }
        auto step = handshake.feed({&byte, 1});
        if (auto* found = std::get_if<proxy_request>(&step)) wanted = *found;
    }
    REQUIRE(wanted);
    CHECK(wanted->head.find("Content-Length: 4\r\n") != std::string::npos);
    CHECK(handshake.take_rest() + behind == "body");

    proxy_handshake whole;
    CHECK(std::holds_alternative<proxy_request>(whole.feed(sent)));
    CHECK(whole.take_rest() == "body");
    proxy_handshake tunnel;
    CHECK(std::holds_alternative<proxy_request>(tunnel.feed(connect("example.org:443") + "\x16\x03\x01")));
    CHECK(tunnel.take_rest() == "\x16\x03\x01");
}

TEST_CASE("proxy_handshake: hosts that a list would compare otherwise than a resolver are refused") {
    for (auto const* host : {"0x7f.1", "127.1", "2130706433", "017700000001", "0177.0.0.1", "1.2.3.4.5", "a b",
                             "allowed.test%00.evil.test", "allowed.test%2eevil.test", "allowed.test#", "allowed.test\\",
                             "allowed..test", "-_~", "\xc3\xa4.test", "[::1%25lo]", "[fe80::1%lo]", "*.test"}) {
        INFO(host);
        CHECK_FALSE(request_in(connect(std::string(host) + ":443")));
        CHECK_FALSE(request_in(get("http://" + std::string(host) + "/")));
    }
    for (auto const& host :
         {"allowed.test\0.evil.test"s, "allowed.test\r\nX: y"s, "allowed.test\n"s, "allowed.test\t"s})
        CHECK_FALSE(request_in(connect(host + ":443")));
    CHECK_FALSE(request_in(connect("user@evil.test:443")));
    CHECK(why_not(get("http://allowed.test@evil.test/")) ==
          "a URL with a user name is not requested: it could hide the host");
    CHECK_FALSE(request_in(get("http://allowed.test:80@evil.test/")));
    CHECK_FALSE(request_in(get("http://evil.test#@allowed.test/")));
    CHECK(request_in(connect("[::ffff:127.0.0.1]:443"))->host == "127.0.0.1");
}

TEST_CASE("proxy_handshake: what is no request for a proxy is told why") {
    CHECK(why_not(get("/path")) == "the target of a request must be a whole URL: this is a proxy");
    CHECK(why_not(get("https://example.org/")) == "only http:// URLs are requested so; for others use CONNECT");
    CHECK_FALSE(why_not(connect("example.org")).empty());
    CHECK_FALSE(why_not(connect("example.org:0")).empty());
    CHECK_FALSE(why_not(connect("example.org:65536")).empty());
    CHECK_FALSE(why_not(get("http://example.org:0/")).empty());
    CHECK_FALSE(why_not(get("*")).empty());
    CHECK(why_not("\x16\x03\x01 hello") == "this is no HTTP request");
    CHECK_FALSE(why_not("GET http://a.test/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n").empty());
}

TEST_CASE("proxy_handshake: a head has a bound") {
    auto const head = [](std::size_t size) {
        auto const begin = "GET http://a.test/ HTTP/1.1\r\nX: "s;
        return begin + std::string(size - begin.size() - 4, 'x') + "\r\n\r\n";
    };
    CHECK(request_in(head(largest_proxy_head)));
    CHECK(why_not(head(largest_proxy_head + 1)) == "the head of the request is longer than 32 KiB");
    proxy_handshake slow;
    std::string piece(1000, 'x');
    CHECK(std::holds_alternative<proxy_handshake::incomplete>(slow.feed("GET http://a.test/ HTTP/1.1\r\nX: ")));
    bool refused = false;
    for (int i = 0; i < 40 && !refused; ++i)
        refused = std::holds_alternative<proxy_handshake::malformed>(slow.feed(piece));
    CHECK(refused);
}

TEST_CASE("proxy_handshake: SOCKS5 by name and by address") {
    CHECK(socks_host(socks_name("Example.org.")) == "example.org:443");
    CHECK(socks_host("\x05\x01\x00\x01\x08\x08\x08\x08\x00\x50"s) == "8.8.8.8:80");
    CHECK(socks_host("\x05\x01\x00\x04\x26\x06\x47\x00\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50"s) == "2606:4700::1:80");
    CHECK(socks_host("\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\x01\x00\x50"s) == "127.0.0.1:80");
    proxy_handshake together;
    (void)together.feed("\x05\x02\x02\x00"s);
    CHECK(std::holds_alternative<proxy_request>(together.feed(socks_name("a.test") + "hello")));
    CHECK(together.take_rest() == "hello");
}

TEST_CASE("proxy_handshake: a SOCKS5 client may say all at once") {
    proxy_handshake handshake;
    auto const first = handshake.feed("\x05\x01\x00"s + socks_name("a.test") + "hello");
    CHECK(std::holds_alternative<proxy_handshake::reply>(first));
    CHECK(std::holds_alternative<proxy_request>(handshake.feed({})));
    CHECK(handshake.take_rest() == "hello");
}

TEST_CASE("proxy_handshake: SOCKS5 requests that are refused") {
    CHECK_FALSE(socks_host(socks_name("allowed.test\0.evil.test"s)));
    CHECK_FALSE(socks_host(socks_name("0x7f.1")));
    CHECK_FALSE(socks_host(socks_name("2130706433")));
    CHECK_FALSE(socks_host(socks_name("")));
    CHECK_FALSE(socks_host(socks_name("a.test", "\0\0"s)));
    auto const bind = socks_step("\x05\x02\x00\x03\x06"s + "a.test\x01\xbb");
    CHECK(std::get<proxy_handshake::malformed>(bind).answer.at(1) == 7);
    auto const unknown = socks_step("\x05\x01\x00\x09"s);
    CHECK(std::get<proxy_handshake::malformed>(unknown).answer.at(1) == 8);
    auto const wants_password = step_for("\x05\x01\x02"s);
    CHECK(std::get<proxy_handshake::malformed>(wants_password).answer == "\x05\xff"s);
}

TEST_CASE("proxy_request: what clients are told") {
    CHECK(established_answer(proxy_protocol::connect) == "HTTP/1.1 200 Connection established\r\n\r\n");
    CHECK(established_answer(proxy_protocol::http).empty());
    CHECK(established_answer(proxy_protocol::socks5).substr(0, 2) == "\x05\x00"s);
    auto const denied = refused_answer(proxy_protocol::connect, proxy_refusal::denied, "a rule denies it");
    CHECK(denied.starts_with("HTTP/1.1 403 a rule denies it\r\n"));
    CHECK(denied.ends_with("\r\n\r\na rule denies it\n"));
    CHECK(refused_answer(proxy_protocol::socks5, proxy_refusal::denied, "").at(1) == 2);
    auto const odd = refused_answer(proxy_protocol::connect, proxy_refusal::denied, "a\r\nX: b\x1b[1m \xc3\xa4\0c"s);
    CHECK(odd.starts_with("HTTP/1.1 403 a? X: b?[1m ???c\r\nContent-Type: text/plain\r\n"));
    auto const long_one = refused_answer(proxy_protocol::connect, proxy_refusal::late, std::string(10'000, 'x'));
    CHECK(long_one.find("\r\n") == "HTTP/1.1 504 "s.size() + 303);
}
