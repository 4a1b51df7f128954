#pragma once

#include <ipybox/core/same_json.hpp>
#include <ipybox/rules/approval_subject.hpp>

#include <nlohmann/json.hpp>

namespace ipybox {

IPYBOX_DECL std::string_view detail::words_of(approval_subject::action kind) noexcept {
    switch (kind) {
    case approval_subject::action::tool: return "tool call";
    case approval_subject::action::shell: return "shell command";
    case approval_subject::action::shell_magic: return "shell magic";
    case approval_subject::action::package: return "package installation";
    case approval_subject::action::server: return "server registration";
    case approval_subject::action::network: return "network connection";
    case approval_subject::action::resource: return "resource request";
    case approval_subject::action::prompt: return "prompt request";
    }
    return "unknown action";
}

IPYBOX_DECL std::string_view to_string(approval_subject::action what) noexcept {
    switch (what) {
    case approval_subject::action::tool: return "tool";
    case approval_subject::action::shell: return "shell";
    case approval_subject::action::shell_magic: return "shell_magic";
    case approval_subject::action::package: return "package";
    case approval_subject::action::server: return "server";
    case approval_subject::action::network: return "network";
    case approval_subject::action::resource: return "resource";
    case approval_subject::action::prompt: return "prompt";
    }
    return "unknown";
}

IPYBOX_DECL std::optional<approval_subject::action> detail::action_named(std::string_view name) noexcept {
    for (auto const kind :
         {approval_subject::action::tool, approval_subject::action::shell, approval_subject::action::shell_magic,
          approval_subject::action::package, approval_subject::action::server, approval_subject::action::network,
          approval_subject::action::resource, approval_subject::action::prompt}) {
        if (to_string(kind) == name) return kind;
    }
    return std::nullopt;
}

IPYBOX_DECL bool detail::same_action(approval_subject const& a, approval_subject const& b) {
    if (a.kind != b.kind || a.server != b.server || a.tool != b.tool || a.argv != b.argv || a.env != b.env ||
        a.input != b.input || a.replaces != b.replaces || a.cwd.native() != b.cwd.native() || a.host != b.host ||
        a.port != b.port || a.protocol != b.protocol || a.uri != b.uri || a.prompt != b.prompt)
        return false;
    if (!a.arguments || !b.arguments) return !a.arguments && !b.arguments;
    if (a.exact_arguments != b.exact_arguments) return false;
    return detail::same_json(nlohmann::json(*a.arguments), nlohmann::json(*b.arguments));
}

} // namespace ipybox
