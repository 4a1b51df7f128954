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
            // A number, say, goes back as it came. `false` is as good as none.
            if (value && member == "nextCursor" && value != "null" && value != "false") one.next = *value;
            return value.has_value();
        }
        listed = true;
        if (cursor.peek() == 'n') return cursor.skip() == "null"; // an empty list of some languages
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

/// Whether there are new ones among them. Those of later pages that are known are left out.
IPYBOX_DECL bool tool_list_machine::add(std::vector<tool> listed) {
    bool const is_first = tools_.empty();
    bool fresh = false;
    for (auto& each : listed) {
        bool const is_new = names_.insert(each.name).second;
        fresh = fresh || is_new;
        if (is_new || is_first) tools_.push_back(std::move(each));
    }
    return fresh;
}

IPYBOX_DECL std::vector<tool> tool_list_machine::all(std::string const& remark) {
    auto tools = std::move(tools_);
    if (tools.empty()) return tools;
    auto& text = tools.back().remark;
    if (!odd_cursor_.empty())
        text = "the list has the cursor " + odd_cursor_ + ", which is not a string: it was sent back as it came";
    if (!remark.empty()) text.append(text.empty() ? "" : "; ").append(remark);
    return tools;
}

IPYBOX_DECL tool_list_machine::outcome tool_list_machine::on_reading(reading read) {
    if (!read) return on_refusal(read.error());
    bool const is_empty = read->tools.empty();
    bool const fresh = add(std::move(read->tools));
    auto& next = read->next;
    if (next.empty()) return all();
    bool const known = !cursors_.insert(next).second;
    if (!fresh && (!is_empty || known)) return all();
    if (odd_cursor_.empty() && !next.starts_with('"')) odd_cursor_ = next.substr(0, 100);
    if (++pages_ >= most_pages || tools_.size() > most_tools)
        return all("the list has no end: the first " + std::to_string(tools_.size()) + " tools were taken");
    cursor_ = std::move(next);
    return std::nullopt;
}

IPYBOX_DECL result<std::vector<tool>> tool_list_machine::on_refusal(error why) {
    if (tools_.empty()) return failure(std::move(why));
    // a server that sends "" for "no more" may not know it as a cursor
    if (cursor_ == "\"\"") return all();
    return all("the rest of the list is missing: the server " + why.text());
}

} // namespace ipybox::mcp
