#pragma once

#include <ipybox/mcp/session.hpp>

namespace ipybox::mcp {

/// 2026-07-28, "Base protocol", section "_meta". Nothing of the host is offered to servers; they may run calls as
/// tasks.
IPYBOX_DECL std::string request_meta(session const& s, std::optional<std::int64_t> progress_token) {
    std::string meta;
    if (s.era == detail::era::stateless)
        meta.append(R"({"io.modelcontextprotocol/protocolVersion":")")
            .append(s.version)
            .append(R"(","io.modelcontextprotocol/clientInfo":)")
            .append(client_info)
            .append(R"(,"io.modelcontextprotocol/clientCapabilities":)")
            .append(R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})");
    if (progress_token)
        meta.append(meta.empty() ? "{" : ",").append(R"("progressToken":)").append(std::to_string(*progress_token));
    return meta.empty() ? meta : meta.append("}");
}

} // namespace ipybox::mcp
