#pragma once

#include <ipybox/core/strict_json.hpp>
#include <ipybox/rules/host_pattern.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <string>

namespace ipybox {

IPYBOX_DECL host_pattern host_pattern::named(std::string_view pattern, std::optional<std::uint16_t> port) {
    std::string lower(pattern);
    std::ranges::transform(lower, lower.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (lower.ends_with('.')) lower.pop_back();
    return {wildcard(lower), port};
}

IPYBOX_DECL bool host_pattern::covers(approval_subject const& subject) const {
    return subject.kind == approval_subject::action::network && (!port || *port == subject.port) &&
           host.matches(subject.host);
}

namespace detail {

IPYBOX_DECL std::optional<std::uint16_t> port_from(strict_object& object) {
    constexpr std::uint64_t last = std::numeric_limits<std::uint16_t>::max();
    auto const number = object.count("port");
    if (!number) return std::nullopt;
    if (*number != 0 && *number <= last) return static_cast<std::uint16_t>(*number);
    object.fail("port", "a number from 1 to 65535 is wanted");
    return std::nullopt;
}

IPYBOX_DECL host_pattern host_pattern_from(strict_object& object) {
    auto const host = object.text("host").value_or("*");
    return host_pattern::named(host, port_from(object));
}

} // namespace detail
} // namespace ipybox
