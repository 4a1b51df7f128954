#pragma once

#include <ipybox/sandbox/network_host.hpp>

#include <asio/ip/address.hpp>

#include <algorithm>

namespace ipybox {
namespace detail {

inline bool is_label_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

inline bool is_label(std::string_view label) noexcept {
    return !label.empty() && label.size() <= 63 && std::all_of(label.begin(), label.end(), is_label_character);
}

inline bool is_name(std::string_view name) noexcept {
    if (name.size() > 253) return false;
    for (;;) {
        auto const dot = name.find('.');
        if (!is_label(name.substr(0, dot))) return false;
        if (dot == std::string_view::npos) return true;
        name.remove_prefix(dot + 1);
    }
}

/// Resolvers take a name for an IPv4 address when its last label is a number, of whichever base (URL Standard, "ends in
/// a number").
inline bool ends_in_number(std::string_view name) noexcept {
    auto const last = name.substr(name.rfind('.') + 1); // npos + 1 is 0
    auto const has_only = [last](std::string_view characters) {
        return last.find_first_not_of(characters) == std::string_view::npos;
    };
    return has_only("0123456789") || (last.starts_with("0x") && has_only("x0123456789abcdef"));
}

inline std::string usual_spelling(asio::ip::address const& address) {
    if (address.is_v6() && address.to_v6().is_v4_mapped())
        return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
    return address.to_string();
}

} // namespace detail

IPYBOX_DECL std::optional<std::string> normal_host(std::string_view written) {
    std::string host(written);
    std::transform(host.begin(), host.end(), host.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    bool const has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (has_brackets) host = host.substr(1, host.size() - 2);
    if (host.find_first_of("%\0", 0, 2) != std::string::npos) return std::nullopt; // scopes of addresses, too
    asio::error_code no_address;
    auto const address = asio::ip::make_address(host, no_address);
    if (!no_address && (!has_brackets || address.is_v6())) return detail::usual_spelling(address);
    if (has_brackets) return std::nullopt;
    if (host.ends_with('.')) host.pop_back();
    if (!detail::is_name(host) || detail::ends_in_number(host)) return std::nullopt;
    return host;
}

} // namespace ipybox
