// libFuzzer target: what a client in the sandbox could say to the network proxy.
//
//     clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I include -I tests tests/fuzz/proxy_handshake.cpp -lhttp_parser -o fuzz_proxy_handshake
//     ./fuzz_proxy_handshake --seed DIR && ./fuzz_proxy_handshake -max_total_time=60 DIR
//
// The first byte says how many bytes are fed at once.

#include <ipybox/network/proxy_handshake.hpp>
#include <ipybox/sandbox/network_host.hpp>

#include <fuzz/seeds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::detail;
using fuzz::require;

/// The host that is compared is the one that is dialled; a head for a server has one Host header, and one end.
void check(proxy_request const& wanted) {
    require(normal_host(wanted.host) == wanted.host && wanted.port != 0);
    if (wanted.protocol != proxy_protocol::http) return require(wanted.head.empty());
    require(wanted.head.find("\r\n\r\n") == wanted.head.size() - 4);
    auto const host = wanted.head.find("\r\nHost: ");
    require(host == wanted.head.find("\r\n") && wanted.head.find("\r\nhost: ") == std::string::npos);
    require(wanted.head.find("\r\nHost: ", host + 1) == std::string::npos);
}

void feed(std::string_view text, std::size_t piece) {
    proxy_handshake handshake;
    std::size_t fed = 0;
    while (fed < text.size()) {
        auto const part = text.substr(fed, piece);
        fed += part.size();
        auto step = handshake.feed(part);
        if (std::holds_alternative<proxy_handshake::reply>(step)) step = handshake.feed({});
        if (auto const* wanted = std::get_if<proxy_request>(&step)) {
            check(*wanted);
            auto const rest = handshake.take_rest();
            return require(text.substr(0, fed).ends_with(rest));
        }
        if (auto const* refused = std::get_if<proxy_handshake::malformed>(&step)) return require(!refused->why.empty());
        require(fed <= largest_proxy_head + piece);
    }
}

} // namespace

std::vector<fuzz::seed> ipybox::fuzz::seeds() {
    using namespace std::string_literals;
    return {
        {"connect", "\x10"
                    "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\nrest"},
        {"get", "\xff"
                "GET http://example.org:80/a?b HTTP/1.1\r\nConnection: X-A\r\nX-A: b\r\nHost: x\r\n\r\n"},
        {"post", "\x01"
                 "POST http://[2606:4700::1]/ HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc"},
        {"socks_name", "\x80\x05\x01\x00\x05\x01\x00\x03\x06"s + "a.test" + "\x01\xbb"s},
        {"socks_v4", "\x03\x05\x01\x00\x05\x01\x00\x01\x08\x08\x08\x08\x00\x50"s},
        {"socks_v6", "\x03\x05\x01\x00\x05\x01\x00\x04"s + std::string(16, '\x20') + "\x00\x50"s},
    };
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view const text(reinterpret_cast<char const*>(data) + 1, size - 1);
    feed(text, std::max<std::size_t>(data[0], 1));
    return 0;
}
