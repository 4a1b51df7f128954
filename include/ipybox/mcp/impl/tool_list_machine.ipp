#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/tool_list_machine.hpp>

#include <iterator>
#include <utility>

namespace ipybox::mcp {
namespace detail {

/// A tool of which no more can be read than its name.
inline std::optional<tool> named_only(std::string_view listed) {
    tool t;
    t.problem = "its description is not JSON, or nests more than " + std::to_string(json_cursor::deepest) + " levels";
    json_cursor cursor(listed);
    bool const read = cursor.object([&](std::string const& member) {
        if (member != "name" || cursor.peek() != '"') return cursor.skip(json_cursor::any_depth).has_value();
        auto name = cursor.string();
        if (name) t.name = std::move(*name);
        return name.has_value();
    });
    if (!read) return std::nullopt;
    return t;
}

} // namespace detail

IPYBOX_DECL std::optional<tool> read_tool(std::string_view json) {
    tool t;
    nlohmann::json execution;
    json_cursor cursor(json);
    auto const text = [&cursor](std::string& place) {
        if (cursor.peek() != '"') return cursor.skip().has_value();
        auto value = cursor.string();
        if (value) place = std::move(*value);
        return value.has_value();
    };
    bool const read = cursor.object([&](std::string const& member) {
        if (member == "name") return text(t.name);
        if (member == "title" && cursor.peek() == '"') return text(t.title.emplace());
        if (member == "description" && cursor.peek() == '"') return text(t.description.emplace());
        if (member == "inputSchema") return cursor.value(t.input_schema);
        if (member == "outputSchema") return cursor.value(t.output_schema.emplace());
        if (member == "annotations") return cursor.value(t.annotations.emplace());
        if (member == "execution") return cursor.value(execution);
        return cursor.skip().has_value();
    });
    // MCP 2025-11-25, tasks, tool-level negotiation
    if (execution.is_object() && execution.value("taskSupport", nlohmann::json()) == "required")
        t.problem = "its server runs it as a task only, and ipybox calls tools without tasks";
    if (read) return t;
    return detail::named_only(json);
}

IPYBOX_DECL tool_list_machine::reading tool_list_machine::read(std::string_view json) {
    page one;
    bool listed = false;
    json_cursor cursor(json);
    bool const read = cursor.object([&](std::string const& member) {
        if (member != "tools") {
            auto const value = cursor.skip(json_cursor::any_depth);
            if (value && member == "nextCursor" && value->starts_with('"')) one.next = *value;
            return value.has_value();
        }
        listed = true;
        return cursor.array([&] {
            auto const text = cursor.skip(json_cursor::any_depth);
            auto described = text ? read_tool(*text) : std::nullopt;
            // An entry without a name cannot be called; the others can.
            if (described && !described->name.empty()) one.tools.push_back(std::move(*described));
            return text.has_value();
        });
    });
    if (!read || !listed || !cursor.finished())
        return failure(errc::protocol_error, "answered `tools/list` with something that is no list of tools");
    return one;
}

IPYBOX_DECL std::optional<result<std::vector<tool>>> tool_list_machine::on_reading(reading read) {
    if (!read) return failure(read);
    if (tools_.empty())
        tools_ = std::move(read->tools);
    else
        tools_.insert(tools_.end(), std::make_move_iterator(read->tools.begin()),
                      std::make_move_iterator(read->tools.end()));
    // Only an absent cursor ends the list: "" is a cursor like any other.
    if (read->next.empty()) return std::move(tools_);
    if (++pages_ >= most_pages || tools_.size() > most_tools)
        return failure(errc::protocol_error, "lists tools without an end");
    cursor_ = std::move(read->next);
    return std::nullopt;
}

} // namespace ipybox::mcp
