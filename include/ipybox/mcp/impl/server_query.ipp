#pragma once

#include <ipybox/mcp/server_query.hpp>

namespace ipybox::mcp {

IPYBOX_DECL std::string_view to_string(server_query::method what) noexcept {
    switch (what) {
    case server_query::method::list_resources: return "resources/list";
    case server_query::method::list_resource_templates: return "resources/templates/list";
    case server_query::method::read_resource: return "resources/read";
    case server_query::method::list_prompts: return "prompts/list";
    case server_query::method::get_prompt: return "prompts/get";
    }
    return "unknown";
}

IPYBOX_DECL std::optional<server_query::method> detail::query_method_named(std::string_view name) noexcept {
    using enum server_query::method;
    for (auto const known : {list_resources, list_resource_templates, read_resource, list_prompts, get_prompt})
        if (to_string(known) == name) return known;
    return std::nullopt;
}

} // namespace ipybox::mcp
