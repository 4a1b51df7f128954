#pragma once

#include <ipybox/mcp/tool.hpp>

namespace ipybox::mcp {

IPYBOX_DECL ipybox::detail::tool_annotations detail::annotations_of(tool const& listed) {
    ipybox::detail::tool_annotations said;
    auto const read = [&listed](char const* name, bool& hint) {
        if (!listed.annotations || !listed.annotations->is_object()) return;
        auto const found = listed.annotations->find(name);
        if (found != listed.annotations->end() && found->is_boolean()) hint = found->get<bool>();
    };
    read("readOnlyHint", said.read_only);
    read("destructiveHint", said.destructive);
    read("idempotentHint", said.idempotent);
    read("openWorldHint", said.open_world);
    if (said.read_only) said.destructive = false;
    return said;
}

} // namespace ipybox::mcp
