#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/tool_list_machine.hpp>

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

inline result<std::vector<tool>> tools_of(whole_list<tool> list) {
    if (!list.remark.empty() && !list.items.empty()) list.items.back().remark = std::move(list.remark);
    return std::move(list.items);
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
        if (cursor.peek() == 'n') return cursor.skip() == "null"; // a member that is left out
        if (member == "inputSchema") return cursor.value(t.input_schema);
        if (member == "outputSchema") return cursor.value(t.output_schema.emplace());
        if (member == "annotations") return cursor.value(t.annotations.emplace());
        if (member == "execution") return cursor.value(execution);
        return cursor.skip().has_value();
    });
    // MCP 2025-11-25, tasks, tool-level negotiation
    t.needs_task = execution.is_object() && execution.value("taskSupport", nlohmann::json()) == "required";
    if (read) return t;
    return detail::named_only(json);
}

IPYBOX_DECL tool_list_machine::reading tool_list_machine::read(std::string_view json) {
    auto const read = [](std::string_view text) {
        auto described = read_tool(text);
        // An entry without a name cannot be called; the others can.
        if (described && described->name.empty()) described.reset();
        return described;
    };
    return read_list_page<tool>(json, method, "tools", read);
}

IPYBOX_DECL tool_list_machine::outcome tool_list_machine::on_reading(reading read) {
    auto list = pages_.on_page(std::move(read));
    if (!list) return std::nullopt;
    return *list ? detail::tools_of(std::move(**list)) : failure(list->error());
}

IPYBOX_DECL result<std::vector<tool>> tool_list_machine::on_refusal(error why, std::int64_t code) {
    auto list = pages_.on_refusal(std::move(why), code);
    if (!list) return failure(list.error());
    return detail::tools_of(std::move(*list));
}

} // namespace ipybox::mcp
