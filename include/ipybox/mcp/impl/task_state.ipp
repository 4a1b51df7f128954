#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/task_state.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace ipybox::mcp {
namespace detail {

inline std::optional<task_state::phase> phase_named(std::string_view name) {
    using enum task_state::phase;
    if (name == "working") return working;
    if (name == "input_required") return input_required;
    if (name == "completed") return completed;
    if (name == "failed") return failed;
    if (name == "cancelled") return cancelled;
    return std::nullopt;
}

inline std::chrono::milliseconds pause_of(std::string_view number) {
    auto const value = read_json(number).value_or(nullptr);
    if (!value.is_number()) return usual_task_pause;
    auto const wished = std::clamp(value.get<double>(), 0.0, static_cast<double>(longest_task_pause.count()));
    return std::max(shortest_task_pause, std::chrono::milliseconds(static_cast<std::int64_t>(wished)));
}

/// The `message` of an error of JSON-RPC.
inline std::string message_of(std::string_view failure) {
    auto const value = read_json(failure).value_or(nullptr);
    auto const found = value.is_object() ? value.find("message") : value.end();
    return found != value.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace detail

IPYBOX_DECL result<task_state> read_task_state(std::string_view json) {
    task_state task;
    task.pause = usual_task_pause;
    std::optional<std::string> status;
    json_cursor cursor(json);
    bool const read = cursor.object([&](std::string const& member) {
        bool const is_text = cursor.peek() == '"';
        if (is_text && member == "status") return (status = cursor.string()).has_value();
        if (is_text && member == "statusMessage" && task.message.empty()) {
            auto said = cursor.string();
            if (said) task.message = std::move(*said);
            return said.has_value();
        }
        auto const value = cursor.skip(json_cursor::any_depth);
        if (!value || *value == "null") return value.has_value();
        if (member == "taskId") task.id = *value;
        if (member == "pollInterval" || member == "pollIntervalMs") task.pause = detail::pause_of(*value);
        if (member == "result") task.result = *value;
        if (member == "error") task.message = detail::message_of(*value);
        return true;
    });
    auto const phase = status ? detail::phase_named(*status) : std::nullopt;
    if (!read || task.id.empty() || !phase)
        return failure(errc::protocol_error,
                       "sent a task without an id or with a status that is not known: " + status.value_or("none"));
    task.now = *phase;
    return task;
}

IPYBOX_DECL std::string_view task_in(std::string_view json) {
    std::string_view found;
    json_cursor cursor(json);
    cursor.object([&](std::string const& member) {
        auto const value = cursor.skip(json_cursor::any_depth);
        if (value && member == "task" && value->starts_with('{')) found = *value;
        return value.has_value();
    });
    return found;
}

} // namespace ipybox::mcp
