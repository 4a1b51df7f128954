#pragma once

#include <ipybox/network/impl/http_head.hpp>
#include <ipybox/network/proxy_handshake.hpp>
#include <ipybox/sandbox/network_host.hpp>

#include <asio/ip/address.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace ipybox::detail {

inline constexpr char socks_version = 5;

inline proxy_handshake::malformed not_http(std::string_view code, std::string why) {
    return {http_answer(code, why), why};
}

/// RFC 1928 section 6, for what is no matter of the host.
inline proxy_handshake::malformed not_socks(char reply, std::string why) {
    return {{socks_version, reply, 0, 1, 0, 0, 0, 0, 0, 0}, std::move(why)};
}

IPYBOX_DECL proxy_handshake::proxy_handshake() = default;
IPYBOX_DECL proxy_handshake::~proxy_handshake() = default;

IPYBOX_DECL std::string proxy_handshake::take_rest() { return std::exchange(rest_, {}); }

IPYBOX_DECL proxy_handshake::step proxy_handshake::feed(std::string_view bytes) {
    if (bytes.empty() && bytes_.empty()) return incomplete{};
    bool const is_new = !http_ && bytes_.empty() && !greeted_;
    if (is_new && bytes.front() != socks_version) http_ = std::make_unique<http_head>();
    if (http_) return feed_http(bytes);
    bytes_.append(bytes);
    return feed_socks();
}

// --- HTTP ----------------------------------------------------------------------------------------------------------------

IPYBOX_DECL proxy_handshake::step proxy_handshake::feed_http(std::string_view bytes) {
    constexpr auto too_long = "431";
    auto const room = largest_proxy_head - read_;
    auto const taken = http_->feed(bytes.substr(0, room));
    if (!taken) return not_http("400", "this is no HTTP request");
    read_ += *taken;
    if (!http_->is_complete()) {
        if (bytes.size() >= room) return not_http(too_long, "the head of the request is longer than 32 KiB");
        return incomplete{};
    }
    rest_ = bytes.substr(*taken);
    auto made = http_->request();
    if (auto* const why = std::get_if<std::string>(&made)) return not_http("400", std::move(*why));
    return std::get<proxy_request>(std::move(made));
}

// --- SOCKS5 --------------------------------------------------------------------------------------------------------------

IPYBOX_DECL proxy_handshake::step proxy_handshake::feed_socks() {
    return greeted_ ? read_socks_request() : read_methods();
}

/// RFC 1928 section 3: version, number of methods, methods. A client that needs a user name is refused.
IPYBOX_DECL proxy_handshake::step proxy_handshake::read_methods() {
    constexpr char no_authentication = 0;
    if (bytes_.size() < 2) return incomplete{};
    auto const size = std::size_t(2) + static_cast<unsigned char>(bytes_[1]);
    if (bytes_.size() < size) return incomplete{};
    auto const methods = bytes_.substr(2, size - 2);
    bytes_.erase(0, size);
    if (methods.find(no_authentication) == std::string::npos)
        return malformed{{socks_version, '\xff'}, "the client wants to authenticate itself"};
    greeted_ = true;
    return reply{{socks_version, no_authentication}};
}

/// The address of a SOCKS request, behind its first four bytes, and where the port begins; none where it is not there
/// yet.
struct socks_address {
    std::string host;
    std::size_t end;
};

inline std::optional<socks_address> address_in(std::string_view bytes, char type) {
    constexpr std::size_t start = 4;
    if (type == 1) {
        if (bytes.size() < start + 4) return std::nullopt;
        asio::ip::address_v4::bytes_type raw;
        std::copy_n(bytes.begin() + start, raw.size(), raw.begin());
        return socks_address{asio::ip::address_v4(raw).to_string(), start + raw.size()};
    }
    if (type == 4) {
        if (bytes.size() < start + 16) return std::nullopt;
        asio::ip::address_v6::bytes_type raw;
        std::copy_n(bytes.begin() + start, raw.size(), raw.begin());
        return socks_address{asio::ip::address_v6(raw).to_string(), start + raw.size()};
    }
    if (bytes.size() < start + 1) return std::nullopt;
    auto const length = static_cast<unsigned char>(bytes[start]);
    if (bytes.size() < start + 1 + length) return std::nullopt;
    return socks_address{std::string(bytes.substr(start + 1, length)), start + 1 + length};
}

/// RFC 1928 section 4: version, command, zero, type of the address, address, port.
IPYBOX_DECL proxy_handshake::step proxy_handshake::read_socks_request() {
    if (bytes_.size() < 4) return incomplete{};
    auto const type = bytes_[3];
    if (bytes_[0] != socks_version) return not_socks(1, "this is no SOCKS5 request");
    if (bytes_[1] != 1) return not_socks(7, "only connections can be made, with CONNECT");
    if (type != 1 && type != 3 && type != 4) return not_socks(8, "an address of an unknown type");
    auto const address = address_in(bytes_, type);
    if (!address || bytes_.size() < address->end + 2) return incomplete{};
    auto const byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes_[at]); };
    auto const port = static_cast<std::uint16_t>(byte(address->end) << 8 | byte(address->end + 1));
    rest_ = bytes_.substr(address->end + 2);
    auto host = normal_host(address->host);
    if (!host) return not_socks(2, "the request names no host that can be compared");
    if (port == 0) return not_socks(1, "a port is a number from 1 to 65535");
    return proxy_request{proxy_protocol::socks5, std::move(*host), port};
}

} // namespace ipybox::detail
