#pragma once

#include <ipybox/core/strict_json.hpp>
#include <ipybox/rules/annotations_pattern.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <utility>

namespace ipybox {
namespace detail {

/// A hint's name in MCP, and its places here.
struct tool_hint {
    char const* name;
    std::optional<bool> annotations_pattern::* wanted;
    bool detail::tool_annotations::* said;
};

inline constexpr std::array tool_hints{
    tool_hint{"readOnlyHint", &annotations_pattern::read_only, &detail::tool_annotations::read_only},
    tool_hint{"destructiveHint", &annotations_pattern::destructive, &detail::tool_annotations::destructive},
    tool_hint{"idempotentHint", &annotations_pattern::idempotent, &detail::tool_annotations::idempotent},
    tool_hint{"openWorldHint", &annotations_pattern::open_world, &detail::tool_annotations::open_world},
};

} // namespace detail

IPYBOX_DECL bool annotations_pattern::empty() const noexcept {
    return !read_only && !destructive && !idempotent && !open_world;
}

IPYBOX_DECL match annotations_pattern::covers(std::optional<detail::tool_annotations> const& said) const noexcept {
    if (empty()) return match::yes;
    if (!said) return match::unsure;
    for (auto const& hint : detail::tool_hints) {
        auto const wanted = this->*hint.wanted;
        if (wanted && *wanted != (*said).*hint.said) return match::no;
    }
    return match::yes;
}

IPYBOX_DECL nlohmann::json annotations_pattern::to_json() const {
    auto value = nlohmann::json::object();
    for (auto const& hint : detail::tool_hints)
        if (auto const wanted = this->*hint.wanted) value[hint.name] = *wanted;
    return value;
}

IPYBOX_DECL result<annotations_pattern> detail::annotations_pattern_from(strict_object& object) {
    annotations_pattern pattern;
    auto hints = object.object("annotations");
    if (!hints) return pattern;
    for (auto const& hint : tool_hints) pattern.*hint.wanted = hints->flag(hint.name);
    if (auto finished = hints->finish(); !finished) return failure(finished);
    if (pattern.empty())
        object.fail("annotations", "readOnlyHint, destructiveHint, idempotentHint or openWorldHint is wanted");
    return pattern;
}

} // namespace ipybox
