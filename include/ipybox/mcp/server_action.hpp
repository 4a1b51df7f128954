#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/client_description.hpp>
#include <ipybox/mcp/elicitation_answer.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/mcp/server_open_request.hpp>

#include <memory>
#include <string>
#include <variant>

namespace ipybox::mcp {

struct server_tool;

/// Work that a message, a result or the time gives rise to.
namespace server_actions {

struct send {
    std::string line;
};

/// A handler is to be started: its outcome comes back by `server_machine::on_result`.
struct start {
    server_call_id call;
    server_tool const* tool; ///< of the options
    raw_json arguments;
    std::shared_ptr<client_description const> client;
    bool reports; ///< whether the client asked for progress
};

/// A handler that was started and has not ended.
struct cancel {
    server_call_id call;
};

/// A question of `server_machine::ask` has an answer, or will have none.
struct answered {
    server_question_id question;
    result<elicitation_answer> answer;
};

/// The client has said what it is; once.
struct introduced {
    std::shared_ptr<client_description const> client;
};

} // namespace server_actions

using server_action = std::variant<server_actions::send, server_actions::start, server_actions::cancel,
                                   server_actions::answered, server_actions::introduced>;

} // namespace ipybox::mcp
