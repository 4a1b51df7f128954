#pragma once

#include <ipybox/network/host_rules.hpp>
#include <ipybox/sandbox/public_address.hpp>

#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace ipybox::detail {

inline sandbox_config::domain_pattern const* matching(std::vector<sandbox_config::domain_pattern> const& patterns,
                                                      std::string_view host, std::uint16_t port) {
    auto const found = std::ranges::find_if(patterns, [&](auto const& each) { return each.matches(host, port); });
    return found == patterns.end() ? nullptr : &*found;
}

IPYBOX_DECL matched_rule decide_host(sandbox_config::network_access const& config, std::string_view host,
                                     std::uint16_t port) {
    if (auto const* const denied = matching(config.denied_domains, host, port)) {
        auto const reason = config.denied_domain_reasons.find(denied->text());
        auto why = reason != config.denied_domain_reasons.end()
                       ? reason->second
                       : "the sandbox's configuration denies it (deniedDomains)";
        return {rule_effect::deny, denied->text(), std::move(why)};
    }
    if (auto const* const allowed = matching(config.allowed_domains, host, port))
        return {rule_effect::allow, allowed->text()};
    if (config.ask_for_others) return {rule_effect::ask};
    return {rule_effect::deny, "", "the sandbox's configuration does not allow it (allowedDomains)"};
}

inline bool lies_in_any(std::vector<sandbox_config::address_range> const& ranges, asio::ip::address const& address) {
    return std::ranges::any_of(ranges, [&](auto const& range) { return range.contains(address); });
}

/// An IPv4 address that is written as an IPv6 one counts as what it stands for.
inline asio::ip::address plain_address(asio::ip::address const& address) {
    if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

enum class reach { open, denied, not_public };

inline reach reach_of(sandbox_config::network_access const& config, asio::ip::address const& address,
                      std::vector<asio::ip::address> const& own, bool is_trusted) {
    auto const leads_to = led_to(address);
    auto const lies_in = [&](auto const& ranges) {
        return lies_in_any(ranges, address) || lies_in_any(ranges, leads_to);
    };
    if (lies_in(config.denied_addresses)) return reach::denied;
    if (is_trusted || lies_in(config.allowed_addresses)) return reach::open;
    bool const is_own = std::ranges::any_of(own, [&](auto const& each) { return led_to(each) == leads_to; });
    return is_public(address) && !is_own ? reach::open : reach::not_public;
}

IPYBOX_DECL result<std::vector<asio::ip::address>> reachable_addresses(sandbox_config::network_access const& config,
                                                                       std::string_view host,
                                                                       std::vector<asio::ip::address> const& found,
                                                                       std::vector<asio::ip::address> const& own,
                                                                       std::uint16_t port) {
    if (found.empty()) return failure(errc::io_error, std::string(host) + " has no address");
    bool const is_trusted = port != 0 && matching(config.trusted_domains, host, port) != nullptr;
    std::vector<asio::ip::address> reachable;
    for (auto const& each : found)
        if (auto const address = plain_address(each); reach_of(config, address, own, is_trusted) == reach::open)
            reachable.push_back(address);
    if (!reachable.empty()) return reachable;
    auto const first = plain_address(found.front());
    bool const is_denied = reach_of(config, first, own, is_trusted) == reach::denied;
    return failure(errc::approval_rejected,
                   std::string(host)
                       .append(" leads to ")
                       .append(first.to_string())
                       .append(is_denied ? ", an address that is denied (deniedResolvedAddresses)"
                                         : ", an address of this machine or of a network that is not public; "
                                           "allowedAddresses opens it (--allow-address)"));
}

IPYBOX_DECL std::optional<asio::ip::address> address_of(sockaddr const* raw) {
    if (raw == nullptr) return std::nullopt;
    if (raw->sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, raw, sizeof v4);
        return asio::ip::address_v4(ntohl(v4.sin_addr.s_addr));
    }
    if (raw->sa_family != AF_INET6) return std::nullopt;
    sockaddr_in6 v6{};
    std::memcpy(&v6, raw, sizeof v6);
    asio::ip::address_v6::bytes_type bytes;
    std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
    return asio::ip::address_v6(bytes);
}

IPYBOX_DECL std::vector<asio::ip::address> own_addresses() {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return {};
    std::unique_ptr<ifaddrs, decltype([](ifaddrs* list) { ::freeifaddrs(list); })> const list(first);
    std::vector<asio::ip::address> own;
    for (auto const* each = first; each != nullptr; each = each->ifa_next)
        if (auto const address = address_of(each->ifa_addr)) own.push_back(*address);
    return own;
}

} // namespace ipybox::detail
