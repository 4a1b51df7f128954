#pragma once

#include <ipybox/network/proxy_request.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace ipybox::detail {

/// The most bytes of a head: a request line with its headers.
inline constexpr std::size_t largest_proxy_head = std::size_t(32) << 10;

class http_head;

/**
 * \brief Reads what a client of the proxy says before its connection is there, without a socket: HTTP or SOCKS5, by the
 * first byte.
 * \details The host is what the target of a request names. A Host header does not count: it is replaced by one that
 * says the same as the target. Of a request with a whole URL the headers that concern the proxy alone are left out, and
 * the server is told to close the connection behind its answer, so that each further request is decided about by
 * itself.
 */
class proxy_handshake {
  public:
    /// More bytes are needed.
    struct incomplete {};

    /// Bytes for the client, which says more then, or has already: to be fed with nothing next.
    struct reply {
        std::string bytes;
    };

    /// Bytes for the client, to whom nothing else is said.
    struct malformed {
        std::string answer;
        std::string why;
    };

    using step = std::variant<incomplete, reply, proxy_request, malformed>;

    proxy_handshake();
    proxy_handshake(proxy_handshake const&) = delete;
    proxy_handshake& operator=(proxy_handshake const&) = delete;
    ~proxy_handshake();

    /// Takes bytes of the client. Not to be called after a request or what is malformed.
    [[nodiscard]] step feed(std::string_view bytes);

    /// The bytes behind the request: bytes for the server.
    [[nodiscard]] std::string take_rest();

  private:
    step feed_http(std::string_view bytes);
    step feed_socks();
    step read_methods();
    step read_socks_request();

    std::unique_ptr<http_head> http_; ///< once it is known to be HTTP
    std::size_t read_ = 0;            ///< bytes of its head
    std::string bytes_;               ///< of SOCKS, not yet understood
    std::string rest_;
    bool greeted_ = false; ///< in SOCKS: the method is agreed on
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/network/impl/proxy_handshake.ipp>
#endif
