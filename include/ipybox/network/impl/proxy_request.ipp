#pragma once

#include <ipybox/network/proxy_request.hpp>

namespace ipybox::detail {

IPYBOX_DECL std::string_view name_of(proxy_protocol protocol) noexcept {
    switch (protocol) {
    case proxy_protocol::http: return "http";
    case proxy_protocol::connect: return "connect";
    case proxy_protocol::socks5: return "socks5";
    }
    return "unknown";
}

inline std::string_view http_status(proxy_refusal refusal) noexcept {
    switch (refusal) {
    case proxy_refusal::denied: return "403";
    case proxy_refusal::unreachable: return "502";
    case proxy_refusal::late: return "504";
    case proxy_refusal::busy: return "503";
    }
    return "500";
}

/// RFC 1928 section 6.
inline char socks_reply(proxy_refusal refusal) noexcept {
    switch (refusal) {
    case proxy_refusal::denied: return 2;
    case proxy_refusal::unreachable: return 4;
    case proxy_refusal::late: return 6;
    case proxy_refusal::busy: return 1;
    }
    return 1;
}

/// With the address 0.0.0.0:0 in the place of the one that the proxy connects from, which the client has no use for.
inline std::string socks_answer(char reply) { return {5, reply, 0, 1, 0, 0, 0, 0, 0, 0}; }

IPYBOX_DECL std::string reason_phrase(std::string_view why) {
    constexpr std::size_t longest = 300;
    std::string phrase(why.substr(0, longest));
    for (auto& c : phrase)
        if (c < ' ' || c > '~') c = c == '\n' ? ' ' : '?';
    return why.size() > longest ? phrase + "..." : phrase;
}

IPYBOX_DECL std::string http_answer(std::string_view code, std::string_view why) {
    auto const body = std::string(why) + "\n";
    return std::string("HTTP/1.1 ")
        .append(code)
        .append(" ")
        .append(reason_phrase(why))
        .append("\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(body.size()))
        .append("\r\nConnection: close\r\n\r\n")
        .append(body);
}

IPYBOX_DECL std::string established_answer(proxy_protocol protocol) {
    switch (protocol) {
    case proxy_protocol::http: return "";
    case proxy_protocol::connect: return "HTTP/1.1 200 Connection established\r\n\r\n";
    case proxy_protocol::socks5: return socks_answer(0);
    }
    return "";
}

IPYBOX_DECL std::string refused_answer(proxy_protocol protocol, proxy_refusal refusal, std::string_view why) {
    if (protocol == proxy_protocol::socks5) return socks_answer(socks_reply(refusal));
    return http_answer(http_status(refusal), why);
}

} // namespace ipybox::detail
