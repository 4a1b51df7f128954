#pragma once

#include <ipybox/mcp/json_writer.hpp>
#include <ipybox/mcp/tool_call_machine.hpp>

#include <utility>

namespace ipybox::mcp {

IPYBOX_DECL result<tool_call_machine> tool_call_machine::make(std::string_view tool,
                                                              nlohmann::ordered_json const& arguments) {
    return make_of(tool, raw_json::of(arguments));
}

IPYBOX_DECL result<tool_call_machine> tool_call_machine::make_of(std::string_view tool, result<raw_json> arguments) {
    if (!arguments) return failure(errc::invalid_argument, "an argument of a tool " + arguments.error().text());
    return make(tool, std::move(*arguments));
}

IPYBOX_DECL result<tool_call_machine> tool_call_machine::make(std::string_view tool, raw_json arguments) {
    if (!arguments.is_object()) return failure(errc::invalid_argument, "the arguments of a tool are a JSON object");
    std::string name;
    if (!detail::append_json_string(name, tool))
        return failure(errc::invalid_argument, "the name of a tool holds text that is not UTF-8");
    return tool_call_machine(std::move(name), std::move(arguments));
}

IPYBOX_DECL std::string_view tool_call_machine::next_method() const noexcept {
    switch (next_) {
    case question::call: break;
    case question::state: return "tasks/get";
    case question::result: return "tasks/result";
    }
    return method;
}

IPYBOX_DECL std::vector<rpc_member> tool_call_machine::params() const {
    if (next_ != question::call) return {{"taskId", task_}};
    std::string_view const task = asks_for_task_ ? "{}" : "";
    return {{"name", tool_}, {"arguments", arguments_.text()}, {"task", task}, {"requestState", rounds_.state()}};
}

namespace detail {

/// The outcome of a task: none while it has no end, and where its result is asked for by itself.
inline std::optional<result<call_result>> outcome_of(task_state const& task, era spoken) {
    auto const reason = task.message.empty() ? std::string() : ": " + task.message;
    using phase = task_state::phase;
    if (task.now == phase::cancelled) return failure(errc::mcp_refused, "cancelled the task of the call" + reason);
    if (spoken == era::handshake) return std::nullopt;
    if (task.now == phase::input_required)
        return failure(errc::mcp_input_required, "asks for input to a task, which the client does not give");
    if (task.now == phase::failed) return failure(errc::mcp_refused, "failed in the task of the call" + reason);
    if (task.now == phase::completed && !task.result.empty()) return read_call_result(task.result, spoken);
    if (task.now == phase::completed) return failure(errc::protocol_error, "completed a task without a result");
    return std::nullopt;
}

inline tool_call_machine::reading reading_of(result<task_state> task, era spoken) {
    if (!task) return {failure(task), {}, {}};
    auto outcome = outcome_of(*task, spoken);
    return {std::move(outcome), {}, std::move(*task)};
}

} // namespace detail

IPYBOX_DECL tool_call_machine::reading tool_call_machine::read(std::string_view json, detail::era spoken,
                                                               question asked) {
    if (asked == question::state) return detail::reading_of(read_task_state(json), spoken);
    if (asked == question::result) return {detail::read_call_result(json, spoken)};
    bool const is_task = spoken == detail::era::stateless && input_rounds::type_of(json) == "task";
    auto const begun = is_task ? json : spoken == detail::era::handshake ? task_in(json) : std::string_view();
    if (!begun.empty()) return detail::reading_of(read_task_state(begun), detail::era::handshake);
    auto wish = input_rounds::wish_in(json, method);
    if (!wish) return {failure(wish)};
    if (*wish) return {std::nullopt, std::move(**wish)};
    return {detail::read_call_result(json, spoken)};
}

IPYBOX_DECL std::optional<result<call_result>> tool_call_machine::on_reading(reading read) {
    pause_ = std::chrono::milliseconds(0);
    if (read.outcome) {
        if (!read.task || read.task->has_ended()) task_.clear();
        return std::move(read.outcome);
    }
    if (!read.task) {
        if (auto begun = rounds_.begin_another(std::move(read.state)); !begun) return failure(begun);
        return std::nullopt;
    }
    task_ = std::move(read.task->id);
    // MCP 2025-11-25: what a task wants to know it asks while its result is asked for.
    bool const has_result = next_ == question::state && read.task->now != task_state::phase::working;
    next_ = has_result ? question::result : question::state;
    if (!has_result) pause_ = read.task->pause;
    return std::nullopt;
}

} // namespace ipybox::mcp
