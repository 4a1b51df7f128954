#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/mcp/server_declaration.hpp>
#include <ipybox/mcp/server_open_request.hpp>

#include <memory>
#include <string>
#include <variant>

namespace ipybox::mcp {

/// Work that a message, a result or the time gives rise to.
namespace server_actions {

struct send {
    std::string line;
};

/// A handler is to be started: its outcome comes back by `server_machine::on_result`.
struct start {
    server_call_id call;
    server::tool const* tool; ///< of the options
    raw_json arguments;
    std::shared_ptr<server::client_description const> client;
    bool reports; ///< whether the client asked for progress
};

/// A handler that was started and has not ended.
struct cancel {
    server_call_id call;
};

/// A question of `server_machine::ask` has an answer, or will have none.
struct answered {
    server_question_id question;
    result<server::elicitation> answer;
};

/// The client has said what it is; once.
struct introduced {
    std::shared_ptr<server::client_description const> client;
};

} // namespace server_actions

using server_action = std::variant<server_actions::send, server_actions::start, server_actions::cancel,
                                   server_actions::answered, server_actions::introduced>;

} // namespace ipybox::mcp
