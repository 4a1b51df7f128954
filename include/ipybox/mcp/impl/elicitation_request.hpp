#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/impl/object_text.hpp>
#include <ipybox/mcp/impl/task_reference.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/server_declaration.hpp>

#include <string>
#include <string_view>

namespace ipybox::mcp::detail {

/// The `params` of an `elicitation/create`. \param form a schema \param task that its call has become; empty: none
inline std::string elicitation_params(server::client_description const& client, std::string_view message,
                                      std::string const& form, std::string const& task) {
    object_text params;
    if (client.version >= "2025-11-25") params.string("mode", "form");
    params.string("message", message).json("requestedSchema", form);
    if (!client.is_stateless && !task.empty()) params.json("_meta", meta_of(related_task(task_reference(task))));
    return params.take();
}

/// The request of the handshake era. Its id is a string: clients count their own requests, and one takes whatever has
/// its number for its answer.
inline std::string elicitation_request(std::string const& id, std::string const& params) {
    return R"({"jsonrpc":"2.0","id":")" + id + R"(","method":"elicitation/create","params":)" + params + "}";
}

/// The answer in the response to it.
inline result<server::elicitation> answer_in(rpc_message const& response) {
    if (response.what == rpc_message::kind::error)
        return failure(errc::mcp_refused, "the client did not ask its user: " + to_string(response.why));
    if (auto answer = read_elicitation_answer(response.result)) return std::move(*answer);
    return failure(errc::protocol_error, "the client answered a question with something else");
}

} // namespace ipybox::mcp::detail
