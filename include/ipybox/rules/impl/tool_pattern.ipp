#pragma once

#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/core/strict_json.hpp>
#include <ipybox/rules/tool_pattern.hpp>

#include <utility>

namespace ipybox {

namespace detail {

/// The spelling in Python of a name, or of a wildcard for names: `get-sum` and `Get.sum` are `get_sum`.
inline std::string in_python(std::string_view name) {
    std::string text;
    for (char const c : name) {
        bool const upper = c >= 'A' && c <= 'Z';
        bool const kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '*';
        if (c != '\\') text += upper ? static_cast<char>(c - 'A' + 'a') : kept ? c : '_';
    }
    return text;
}

/// An author of rules may know a name from Python alone: then it may be the one that is meant.
inline match names(wildcard const& pattern, std::string_view name) {
    if (pattern.matches(name)) return match::yes;
    return wildcard(in_python(pattern.pattern())).matches(in_python(name)) ? match::unsure : match::no;
}

} // namespace detail

IPYBOX_DECL tool_pattern tool_pattern::named(std::string_view pattern) {
    auto const dot = pattern.find('.');
    auto const tool = dot == std::string_view::npos ? "*" : pattern.substr(dot + 1);
    return {.server = wildcard(pattern.substr(0, dot)), .tool = wildcard(tool)};
}

IPYBOX_DECL match tool_pattern::covers(approval_subject const& subject) const {
    if (subject.kind != approval_subject::action::tool) return match::no;
    auto covered = both(detail::names(server, subject.server), detail::names(tool, subject.tool));
    static auto const& none = detail::never_destroyed<nlohmann::ordered_json>();
    auto const& arguments = subject.arguments ? *subject.arguments : none;
    for (auto const& constraint : where) {
        if (covered == match::no) break;
        covered = both(covered, constraint.covers(arguments));
    }
    if (covered == match::no || annotations.empty()) return covered;
    return both(covered, annotations.covers(subject.annotations.of(subject.server, subject.tool)));
}

IPYBOX_DECL result<tool_pattern> detail::tool_pattern_from(strict_object& object) {
    auto const server = object.text("server");
    auto const tool = object.text("tool");
    if (!tool && !server) object.fail_missing("tool", "a tool is wanted: \"server.tool\"");
    if (tool && !server && tool->find('.') == std::string::npos)
        object.fail("tool", "\"server.tool\" is wanted, or \"server\" besides it");
    auto pattern = server ? tool_pattern{.server = wildcard(*server), .tool = wildcard(tool.value_or("*"))}
                          : tool_pattern::named(tool.value_or(""));
    if (auto const* conditions = object.array("where")) {
        for (std::size_t i = 0; i < conditions->size(); ++i) {
            auto const place = object.place("where/" + std::to_string(i));
            auto condition = argument_constraint::from_json((*conditions)[i], place);
            if (!condition) return failure(condition);
            pattern.where.push_back(std::move(*condition));
        }
    }
    auto annotations = annotations_pattern_from(object);
    if (!annotations) return failure(annotations);
    pattern.annotations = *annotations;
    return pattern;
}

} // namespace ipybox
