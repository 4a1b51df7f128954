#pragma once

#include <ipybox/approval/strict_json.hpp>
#include <ipybox/approval/tool_pattern.hpp>

#include <utility>

namespace ipybox {

IPYBOX_DECL tool_pattern tool_pattern::named(std::string_view pattern) {
    auto const dot = pattern.find('.');
    auto const tool = dot == std::string_view::npos ? "*" : pattern.substr(dot + 1);
    return {.server = wildcard(pattern.substr(0, dot)), .tool = wildcard(tool)};
}

IPYBOX_DECL match tool_pattern::covers(approval_subject const& subject) const {
    bool const named =
        subject.kind == approval_kind::tool && server.matches(subject.server) && tool.matches(subject.tool);
    auto covered = match_if(named);
    static nlohmann::json const none;
    auto const& arguments = subject.arguments ? *subject.arguments : none;
    for (auto const& constraint : where) {
        if (covered == match::no) break;
        covered = both(covered, constraint.covers(arguments));
    }
    return covered;
}

IPYBOX_DECL result<tool_pattern> detail::tool_pattern_from(strict_object& object) {
    auto const server = object.text("server");
    auto const tool = object.text("tool");
    if (!tool && !server) object.fail("tool", "a tool is wanted: \"server.tool\"");
    if (tool && !server && tool->find('.') == std::string::npos)
        object.fail("tool", "\"server.tool\" is wanted, or \"server\" besides it");
    auto pattern =
        server ? tool_pattern{wildcard(*server), wildcard(tool.value_or("*"))} : tool_pattern::named(tool.value_or(""));
    if (auto const* conditions = object.array("where")) {
        for (std::size_t i = 0; i < conditions->size(); ++i) {
            auto const place = object.place("where/" + std::to_string(i));
            auto condition = argument_constraint::from_json((*conditions)[i], place);
            if (!condition) return failure(condition);
            pattern.where.push_back(std::move(*condition));
        }
    }
    return pattern;
}

} // namespace ipybox
