#pragma once

#include <ipybox/mcp/server_declaration.hpp>

#include <string_view>

namespace ipybox::mcp {
namespace detail {

inline nlohmann::json const* member_of(nlohmann::json const& object, std::string_view name) {
    auto const found = object.is_object() ? object.find(name) : object.end();
    return found == object.end() ? nullptr : &*found;
}

} // namespace detail

/// 2025-06-18, "Elicitation"; since 2025-11-25 a client may declare that it opens addresses, and no forms.
IPYBOX_DECL bool server::client_description::answers_forms() const {
    if (version < "2025-06-18") return false;
    auto const* const declared = detail::member_of(capabilities, "elicitation");
    if (declared == nullptr || !declared->is_object()) return false;
    return version < "2025-11-25" || declared->contains("form") || !declared->contains("url");
}

IPYBOX_DECL bool server::client_description::takes_tasks() const {
    if (!is_stateless) return false;
    auto const* const extensions = detail::member_of(capabilities, "extensions");
    return extensions != nullptr && detail::member_of(*extensions, "io.modelcontextprotocol/tasks") != nullptr;
}

} // namespace ipybox::mcp
