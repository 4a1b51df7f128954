#pragma once

#include <ipybox/core/same_json.hpp>
#include <ipybox/rules/approval_subject.hpp>

#include <nlohmann/json.hpp>

namespace ipybox {

IPYBOX_DECL std::string_view to_string(approval_kind kind) noexcept {
    switch (kind) {
    case approval_kind::tool: return "tool call";
    case approval_kind::shell: return "shell command";
    case approval_kind::shell_magic: return "shell magic";
    case approval_kind::package: return "package installation";
    case approval_kind::server: return "server registration";
    case approval_kind::network: return "network connection";
    }
    return "unknown action";
}

IPYBOX_DECL std::string_view name_of(approval_kind kind) noexcept {
    switch (kind) {
    case approval_kind::tool: return "tool";
    case approval_kind::shell: return "shell";
    case approval_kind::shell_magic: return "shell_magic";
    case approval_kind::package: return "package";
    case approval_kind::server: return "server";
    case approval_kind::network: return "network";
    }
    return "unknown";
}

IPYBOX_DECL std::optional<approval_kind> detail::approval_kind_named(std::string_view name) noexcept {
    for (auto const kind : {approval_kind::tool, approval_kind::shell, approval_kind::shell_magic,
                            approval_kind::package, approval_kind::server, approval_kind::network}) {
        if (name_of(kind) == name) return kind;
    }
    return std::nullopt;
}

IPYBOX_DECL bool detail::same_action(approval_subject const& a, approval_subject const& b) {
    if (a.kind != b.kind || a.server != b.server || a.tool != b.tool || a.argv != b.argv || a.env != b.env ||
        a.input != b.input || a.cwd.native() != b.cwd.native() || a.host != b.host || a.port != b.port ||
        a.protocol != b.protocol)
        return false;
    if (!a.arguments || !b.arguments) return !a.arguments && !b.arguments;
    if (a.exact_arguments != b.exact_arguments) return false;
    return detail::same_json(nlohmann::json(*a.arguments), nlohmann::json(*b.arguments));
}

} // namespace ipybox
