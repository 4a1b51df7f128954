#pragma once

#include <ipybox/sandbox/address_range.hpp>

#include <asio/ip/network_v4.hpp>
#include <asio/ip/network_v6.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace ipybox {
namespace detail {

/// The IPv4 address that an IPv6 address leads to: mapped (RFC 4291 2.5.5.2), NAT64 (RFC 6052 2.1), 6to4 (RFC 3056).
inline std::optional<asio::ip::address_v4> embedded_v4(asio::ip::address_v6 const& address) {
    auto const bytes = address.to_bytes();
    auto const four_from = [&bytes](std::size_t at) {
        return asio::ip::address_v4({bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]});
    };
    static constexpr std::array<unsigned char, 12> nat64{0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0};
    if (address.is_v4_mapped() || std::equal(nat64.begin(), nat64.end(), bytes.begin())) return four_from(12);
    if (bytes[0] == 0x20 && bytes[1] == 0x02) return four_from(2);
    return std::nullopt;
}

inline std::vector<address_range> const& special_ranges() {
    static std::vector<address_range> const ranges = [] {
        std::vector<address_range> list;
        for (auto const* text :
             {"0.0.0.0/8",      "10.0.0.0/8",   "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16", "172.16.0.0/12",
              "192.0.0.0/24",   "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",  "198.51.100.0/24",
              "203.0.113.0/24", "224.0.0.0/4",  "240.0.0.0/4",    "::/128",         "::1/128",        "64:ff9b:1::/48",
              "100::/64",       "2001::/23",    "2001:db8::/32",  "3fff::/20",      "5f00::/16",      "fc00::/7",
              "fe80::/10",      "fec0::/10",    "ff00::/8"})
            list.push_back(*address_range::parse(text));
        return list;
    }();
    return ranges;
}

} // namespace detail

IPYBOX_DECL result<address_range> address_range::parse(std::string_view text) {
    auto const refused = [text] {
        return failure(errc::invalid_argument,
                       std::string("\"").append(text).append(
                           "\" is not a range of addresses; write one as 10.0.0.0/8, fc00::/7 or 192.168.1.10"));
    };
    asio::error_code wrong;
    auto const single = asio::ip::make_address(text, wrong);
    if (!wrong) {
        if (single.is_v4()) return address_range(single, 32);
        if (single.to_v6().scope_id() != 0) return refused();
        return address_range(single, 128);
    }
    auto const v4 = asio::ip::make_network_v4(text, wrong);
    if (!wrong) return address_range(v4.network(), v4.prefix_length());
    auto const v6 = asio::ip::make_network_v6(text, wrong);
    if (!wrong) return address_range(v6.network(), v6.prefix_length());
    return refused();
}

IPYBOX_DECL std::string address_range::text() const {
    return network_.to_string() + "/" + std::to_string(prefix_length_);
}

IPYBOX_DECL bool address_range::contains(asio::ip::address const& address) const noexcept {
    if (network_.is_v4()) {
        if (address.is_v6() && !address.to_v6().is_v4_mapped()) return false;
        auto const host =
            address.is_v4() ? address.to_v4() : asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
        return asio::ip::make_network_v4(host, prefix_length_).network() == network_.to_v4();
    }
    if (address.is_v4()) return false;
    return asio::ip::make_network_v6(address.to_v6(), prefix_length_).network() == network_.to_v6();
}

IPYBOX_DECL bool detail::is_public(asio::ip::address const& address) {
    auto const embedded = address.is_v6() ? detail::embedded_v4(address.to_v6()) : std::nullopt;
    if (embedded) return is_public(*embedded);
    auto const& special = detail::special_ranges();
    return std::none_of(special.begin(), special.end(), [&](auto const& range) { return range.contains(address); });
}

} // namespace ipybox
