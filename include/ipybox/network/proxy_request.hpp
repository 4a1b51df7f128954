#pragma once

#include <ipybox/core/config.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/** \file
 * The request of a client of the network proxy, and its answers. The protocols are HTTP/1.1 (RFC 9112 3.2.2, RFC
 * 9110 9.3.6) and SOCKS5 (RFC 1928).
 */

namespace ipybox::detail {

/// How a client talks to the proxy.
enum class proxy_protocol {
    http,    ///< one request with the whole URL as its target
    connect, ///< a tunnel, `CONNECT host:port`
    socks5,  ///< a tunnel
};

/// "http", "connect" or "socks5": as in audit logs.
[[nodiscard]] std::string_view name_of(proxy_protocol protocol) noexcept;

/// A connection that a client asks for.
struct proxy_request {
    proxy_protocol protocol = proxy_protocol::connect;
    std::string host = {}; ///< as `normal_host` returns it
    std::uint16_t port = 0;
    std::string head = {}; ///< of `http` alone: the request as it is sent to the server
};

/// Why there is no connection.
enum class proxy_refusal {
    denied,      ///< the host may not be reached
    unreachable, ///< it may, and cannot
    late,        ///< it did not answer in time
    busy,        ///< there are too many connections
};

/// The answer for a connection that is made; empty for `http`: there the server answers.
[[nodiscard]] std::string established_answer(proxy_protocol protocol);

/// The answer for a connection that is refused. For HTTP the status line says why: clients show nothing else of it.
[[nodiscard]] std::string refused_answer(proxy_protocol protocol, proxy_refusal refusal, std::string_view why);

/// A sentence as a status line can have it: in one line of printable ASCII, and not too long.
[[nodiscard]] std::string reason_phrase(std::string_view why);

/// An answer of the proxy itself. \param code of the status: "403"
[[nodiscard]] std::string http_answer(std::string_view code, std::string_view why);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/network/impl/proxy_request.ipp>
#endif
