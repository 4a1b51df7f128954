#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/mcp/call_options.hpp>
#include <ipybox/mcp/impl/object_text.hpp>
#include <ipybox/mcp/impl/task_reference.hpp>
#include <ipybox/mcp/server_tasks.hpp>

#include <cmath>
#include <string>

namespace ipybox::mcp::detail {

/// A line that tells a client how far a call has come. \param token JSON of the client \param task that the call has
/// become, or null
inline std::string progress_notification(call_options::progress const& made, std::string const& token,
                                         server::client_description const& client, server_task const* task) {
    object_text params;
    params.json("progressToken", token).json("progress", json_text(nlohmann::json(made.done)));
    if (made.total && std::isfinite(*made.total)) params.json("total", json_text(nlohmann::json(*made.total)));
    if (made.message && client.version >= "2025-03-26") params.string("message", *made.message);
    if (task != nullptr) params.json("_meta", meta_of(related_task(task_reference(task->id))));
    auto line = std::string(R"({"jsonrpc":"2.0","method":"notifications/progress","params":)").append(params.take());
    line.push_back('}');
    return line;
}

} // namespace ipybox::mcp::detail
