#pragma once

#include <ipybox/sandbox/network_host.hpp>
#include <ipybox/sandbox/parent_proxy_url.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <asio/ip/address.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace ipybox::detail {

/// RFC 3986 2.1; what is no escape stays.
inline std::string without_escapes(std::string_view text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        unsigned value = 0;
        auto const digits = text.substr(at + (at < text.size() ? 1 : 0), 2);
        auto const [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        bool const is_escape =
            text[at] == '%' && digits.size() == 2 && failed == std::errc() && end == digits.data() + 2;
        plain.push_back(is_escape ? static_cast<char>(value) : text[at]);
        if (is_escape) at += 2;
    }
    return plain;
}

IPYBOX_DECL result<parent_proxy_url> parent_proxy_url::parse(std::string_view url) {
    constexpr std::string_view scheme = "http://";
    auto const refused = [] {
        return failure(errc::invalid_argument, "the proxy of the network must be a URL as http://proxy.example:3128");
    };
    if (!url.starts_with(scheme)) return refused();
    url.remove_prefix(scheme.size());
    auto authority = url.substr(0, url.find('/'));
    if (authority.size() + 1 < url.size()) return refused(); // a path
    parent_proxy_url read;
    if (auto const at = authority.rfind('@'); at != std::string_view::npos) {
        read.credentials = without_escapes(authority.substr(0, at));
        authority.remove_prefix(at + 1);
    }
    auto const bracket = authority.rfind(']');
    auto const colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
    if (colon != std::string_view::npos) {
        auto const digits = authority.substr(colon + 1);
        auto const [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), read.port);
        if (failed != std::errc() || end != digits.data() + digits.size() || read.port == 0) return refused();
        authority = authority.substr(0, colon);
    }
    auto host = normal_host(authority);
    if (!host) return refused();
    read.host = *std::move(host);
    return read;
}

IPYBOX_DECL std::vector<std::string> exceptions_in(std::string_view list) {
    std::vector<std::string> found;
    while (!list.empty()) {
        auto const comma = std::min(list.find(','), list.size());
        auto entry = list.substr(0, comma);
        list.remove_prefix(std::min(comma + 1, list.size()));
        auto const first = entry.find_first_not_of(" \t");
        if (first == std::string_view::npos) continue;
        found.emplace_back(entry.substr(first, entry.find_last_not_of(" \t") + 1 - first));
    }
    return found;
}

IPYBOX_DECL bool is_exception(std::vector<std::string> const& exceptions, std::string_view host) {
    asio::error_code is_name;
    auto const address = asio::ip::make_address(host, is_name);
    return std::ranges::any_of(exceptions, [&](std::string_view entry) {
        if (entry == "*") return true;
        if (!is_name) {
            auto const range = sandbox_config::address_range::parse(entry);
            return range && range->contains(address);
        }
        if (entry.starts_with("*.")) entry.remove_prefix(2);
        if (entry.starts_with('.')) entry.remove_prefix(1);
        auto const name = normal_host(entry);
        return name && (host == *name || host.ends_with("." + *name));
    });
}

} // namespace ipybox::detail
