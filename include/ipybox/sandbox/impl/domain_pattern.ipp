#pragma once

#include <ipybox/sandbox/domain_pattern.hpp>
#include <ipybox/sandbox/network_host.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace ipybox {
namespace detail {

/// "host:port" taken apart. A colon that is part of an IPv6 address in brackets separates nothing.
struct host_and_port {
    std::string_view host;
    std::optional<std::string_view> port = std::nullopt;

    explicit host_and_port(std::string_view text) : host(text) {
        auto const from = text.starts_with('[') ? text.find(']') : 0;
        auto const colon = from == std::string_view::npos ? from : text.find(':', from);
        if (colon == std::string_view::npos) return;
        host = text.substr(0, colon);
        port = text.substr(colon + 1);
    }
};

inline std::optional<std::uint16_t> port_number(std::string_view text) noexcept {
    std::uint16_t number = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    bool const good = failed == std::errc() && end == text.data() + text.size() && number != 0 && text.front() != '0';
    return good ? std::optional(number) : std::nullopt;
}

} // namespace detail

IPYBOX_DECL result<domain_pattern> domain_pattern::parse(std::string_view text) { return parse(text, false); }

IPYBOX_DECL result<domain_pattern> domain_pattern::parse_denied(std::string_view text) { return parse(text, true); }

IPYBOX_DECL result<domain_pattern> domain_pattern::parse(std::string_view text, bool every_host_allowed) {
    auto const refuse = [text](std::string_view why) {
        return failure(errc::invalid_argument,
                       std::string("the host \"").append(text).append("\" cannot be used: ").append(why));
    };
    if (text.find('/') != std::string_view::npos)
        return refuse("a host's name is wanted, as example.org, *.example.org or example.org:443, not a URL");
    if (std::count(text.begin(), text.end(), ':') > 1 && !text.starts_with('['))
        return refuse("an IPv6 address stands in brackets, as [::1] or [::1]:443");
    detail::host_and_port const parts(text);
    std::optional<std::uint16_t> port;
    if (parts.port) {
        port = detail::port_number(*parts.port);
        if (!port) return refuse("a port is a number from 1 to 65535");
    }
    if (parts.host == "*") {
        if (!every_host_allowed) return refuse("* would be every host; name them, as example.org or *.example.org");
        return domain_pattern(text, "", scope::every_host, port);
    }
    bool const below = parts.host.starts_with("*.");
    auto host = normal_host(below ? parts.host.substr(2) : parts.host);
    if (!host) return refuse("a host is a name as example.org or *.example.org, or an IP address");
    bool const is_single_label = host->find_first_of(".:") == std::string::npos;
    if (is_single_label && (below || *host != "localhost")) return refuse("it needs two labels, as example.org");
    if (!below) return domain_pattern(text, *std::move(host), scope::one_host, port);
    if (host->find(':') != std::string::npos || host->find_first_not_of("0123456789.") == std::string::npos)
        return refuse("there is nothing below an IP address");
    return domain_pattern(text, "." + *host, scope::hosts_below, port);
}

IPYBOX_DECL bool domain_pattern::matches(std::string_view host, std::uint16_t port) const noexcept {
    if (port_ && *port_ != port) return false;
    switch (scope_) {
    case scope::one_host: return host == host_;
    case scope::hosts_below: return host.size() > host_.size() && host.ends_with(host_);
    case scope::every_host: return true;
    }
    return false;
}

} // namespace ipybox
