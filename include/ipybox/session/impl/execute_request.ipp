#pragma once

#include <ipybox/session/execute_request.hpp>
#include <ipybox/session/execution.hpp>
#include <ipybox/session/value_request.hpp>

#include <nlohmann/json.hpp>

#include <utility>

namespace ipybox::detail {

inline jupyter::json execute_content(std::string code, bool silent, jupyter::json expressions, bool allow_stdin) {
    return {{"code", std::move(code)},    {"silent", silent},
            {"store_history", false},     {"user_expressions", std::move(expressions)},
            {"allow_stdin", allow_stdin}, {"stop_on_error", false}};
}

IPYBOX_DECL jupyter::message to_execute_request(execution& e, std::string const& id) {
    bool const of_value = e.of_value;
    auto expressions = jupyter::json::object();
    if (of_value)
        expressions[value_expression_name] = std::move(e.value_expression);
    else if (e.options.want_value)
        expressions[value_expression_name] = last_value_expression();
    bool const allow_stdin = !of_value && e.options.on_input;
    jupyter::message request(
        jupyter::message::channel::shell, "execute_request",
        execute_content(of_value ? "" : std::move(e.code), of_value, std::move(expressions), allow_stdin));
    request.id = id;
    if (!of_value && e.options.title) request.metadata = {{"title", std::move(*e.options.title)}};
    return request;
}

} // namespace ipybox::detail
