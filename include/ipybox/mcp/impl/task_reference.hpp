#pragma once

#include <ipybox/mcp/impl/object_text.hpp>
#include <ipybox/mcp/rpc_message.hpp>

#include <string>
#include <string_view>

namespace ipybox::mcp::detail {

/// The member of `_meta` that names the task of a message (MCP 2025-11-25, "Tasks", section "Related Task Metadata").
inline rpc_member related_task(std::string const& value) { return {"io.modelcontextprotocol/related-task", value}; }

inline std::string task_reference(std::string_view id) {
    object_text reference;
    return reference.string("taskId", id).take();
}

/// A `_meta` with one member.
inline std::string meta_of(rpc_member const& member) {
    object_text meta;
    return meta.json(member.name, member.value).take();
}

} // namespace ipybox::mcp::detail
