#pragma once

#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/sandbox/public_address.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace ipybox::detail {

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

inline std::vector<sandbox_config::address_range> const& special_ranges() {
    static auto const& ranges = never_destroyed<std::vector<sandbox_config::address_range>>([] {
        std::vector<sandbox_config::address_range> list;
        for (auto const* text :
             {"0.0.0.0/8",      "10.0.0.0/8",   "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16", "172.16.0.0/12",
              "192.0.0.0/24",   "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",  "198.51.100.0/24",
              "203.0.113.0/24", "224.0.0.0/4",  "240.0.0.0/4",    "::/128",         "::1/128",        "64:ff9b:1::/48",
              "100::/64",       "2001::/23",    "2001:db8::/32",  "3fff::/20",      "5f00::/16",      "fc00::/7",
              "fe80::/10",      "fec0::/10",    "ff00::/8"})
            list.push_back(*sandbox_config::address_range::parse(text));
        return list;
    }());
    return ranges;
}

IPYBOX_DECL asio::ip::address led_to(asio::ip::address const& address) {
    auto const embedded = address.is_v6() ? embedded_v4(address.to_v6()) : std::nullopt;
    return embedded ? asio::ip::address(*embedded) : address;
}

IPYBOX_DECL bool is_public(asio::ip::address const& address) {
    auto const plain = led_to(address);
    auto const& special = special_ranges();
    return std::none_of(special.begin(), special.end(), [&](auto const& range) { return range.contains(plain); });
}

} // namespace ipybox::detail
