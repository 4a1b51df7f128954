#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/core/tool_annotations.hpp>
#include <ipybox/rules/match.hpp>

#include <nlohmann/json_fwd.hpp>

#include <optional>

namespace ipybox {

namespace detail {

class strict_object;

} // namespace detail

/// Statements of a tool about its effects: it has to make all that are set here.
struct annotations_pattern {
    std::optional<bool> read_only = {};
    std::optional<bool> destructive = {};
    std::optional<bool> idempotent = {};
    std::optional<bool> open_world = {};

    [[nodiscard]] bool empty() const noexcept;

    /// `match::unsure` where the tool is not known: its server has not listed it yet.
    [[nodiscard]] match covers(std::optional<detail::tool_annotations> const& said) const noexcept;

    /// As in files: `{"readOnlyHint": true}`.
    [[nodiscard]] nlohmann::json to_json() const;
};

namespace detail {

/// From the member `annotations` of an object; an empty pattern where there is none.
[[nodiscard]] result<annotations_pattern> annotations_pattern_from(strict_object& object);

} // namespace detail

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/annotations_pattern.ipp>
#endif
