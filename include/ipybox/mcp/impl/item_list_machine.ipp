#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/item_list_machine.hpp>

#include <utility>

namespace ipybox::mcp::detail {

IPYBOX_DECL std::optional<listed_item> read_item(std::string_view text, std::string_view key) {
    std::optional<std::string> known_by;
    json_cursor cursor(text);
    bool const read = cursor.object([&](std::string const& member) {
        if (member != key || cursor.peek() != '"') return cursor.skip().has_value();
        known_by = cursor.string();
        return known_by.has_value();
    });
    if (!read || !known_by || known_by->empty()) return std::nullopt;
    auto value = raw_json::read(text);
    if (!value) return std::nullopt;
    return listed_item{std::move(*known_by), std::move(*value)};
}

IPYBOX_DECL result<raw_json> json_of(whole_list<listed_item> const& list) {
    std::string text = R"({"items":[)";
    for (auto const& item : list.items) {
        if (!text.ends_with('[')) text += ',';
        text += item.value.text();
    }
    text.append(R"(],"remark":)").append(json_string(list.remark)).append("}");
    return raw_json::of_text(std::move(text));
}

} // namespace ipybox::mcp::detail
