// Header-only and quick to compile, but it needs every library that ipybox::header_only brings: Asio, nlohmann/json,
// tl::expected, http_parser, libcrypto.
#include <ipybox/async/thread_reaper.hpp>
#include <ipybox/core/sha256.hpp>
#include <ipybox/core/strict_json.hpp>
#include <ipybox/network/impl/http_head.hpp>
#include <ipybox/version.hpp>

#include <nlohmann/json.hpp>

#include <cstdio>

int main() {
    auto const json = ipybox::detail::parse_strictly(R"({"a": [1, 2]})", "the example");
    ipybox::detail::http_head head;
    auto const size = head.feed("CONNECT example.com:443 HTTP/1.1\r\n\r\n");
    auto const hash = ipybox::sha256_hex("abc");
    auto const right =
        json && json->at("a").size() == 2 && size && head.is_complete() && hash.substr(0, 8) == "ba7816bf";
    std::printf("ipybox %s: %s\n", ipybox::version::text, right ? "right" : "wrong");
    return right ? 0 : 1;
}
