#pragma once

#include <ipybox/core/strict_json.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/rules/grant.hpp>
#include <ipybox/rules/host_pattern.hpp>
#include <ipybox/rules/subject_json.hpp>
#include <ipybox/rules/tool_pattern.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace ipybox {

struct grant::pattern_or_action : std::variant<tool_pattern, host_pattern, approval_subject> {
    using variant::variant;

    [[nodiscard]] tool_pattern const* pattern() const noexcept { return std::get_if<tool_pattern>(this); }
    [[nodiscard]] host_pattern const* hosts() const noexcept { return std::get_if<host_pattern>(this); }
    [[nodiscard]] approval_subject const& action() const { return std::get<approval_subject>(*this); }
};

IPYBOX_DECL grant::grant(pattern_or_action what) : what_(std::make_shared<pattern_or_action const>(std::move(what))) {}

IPYBOX_DECL grant grant::tool(std::string_view pattern) {
    return grant(pattern_or_action(tool_pattern::named(pattern)));
}

IPYBOX_DECL grant grant::this_tool(approval_subject const& subject) {
    tool_pattern pattern{.server = wildcard::exactly(subject.server), .tool = wildcard::exactly(subject.tool)};
    return grant(pattern_or_action(std::move(pattern)));
}

IPYBOX_DECL grant grant::host(std::string_view pattern, std::optional<std::uint16_t> port) {
    return grant(pattern_or_action(host_pattern::named(pattern, port)));
}

IPYBOX_DECL grant grant::this_host(approval_subject const& subject) {
    return grant(pattern_or_action(host_pattern{wildcard::exactly(subject.host)}));
}

IPYBOX_DECL grant grant::exactly(approval_subject const& subject) {
    auto what = subject;
    // The asking cell is not part of it.
    what.id = 0;
    what.code.clear();
    what.cell_id.clear();
    what.deadline.reset();
    return grant(pattern_or_action(std::move(what)));
}

IPYBOX_DECL grant grant::where(std::string path, detail::comparison op, nlohmann::json value) && {
    if (auto const* pattern = what_->pattern()) {
        auto narrower = *pattern;
        narrower.where.push_back({std::move(path), op, std::move(value)});
        what_ = std::make_shared<pattern_or_action const>(std::move(narrower));
    }
    return std::move(*this);
}

IPYBOX_DECL grant grant::at_most(std::uint64_t uses) && {
    uses_ = uses;
    return std::move(*this);
}

IPYBOX_DECL grant grant::lasting(std::chrono::milliseconds time) && {
    lifetime_ = clamped(time);
    return std::move(*this);
}

IPYBOX_DECL grant grant::in_this_cell() && {
    for_one_cell_ = true;
    return std::move(*this);
}

IPYBOX_DECL bool grant::is_about_server(std::string_view name) const {
    if (auto const* pattern = what_->pattern())
        return pattern->server.pattern() != "*" && pattern->server.matches(name);
    if (what_->hosts()) return false;
    auto const& action = what_->action();
    bool const asks_server = action.kind == approval_subject::action::tool ||
                             action.kind == approval_subject::action::resource ||
                             action.kind == approval_subject::action::prompt;
    return asks_server && action.server == name;
}

IPYBOX_DECL bool grant::covers(approval_subject const& subject) const {
    if (subject.changed_files) return false;
    if (auto const* pattern = what_->pattern()) return pattern->covers(subject) == match::yes;
    if (auto const* hosts = what_->hosts()) return hosts->covers(subject);
    return detail::same_action(what_->action(), subject);
}

IPYBOX_DECL nlohmann::json grant::to_json() const {
    nlohmann::json value;
    if (auto const* pattern = what_->pattern()) {
        auto const& [server, tool, where, annotations] = *pattern;
        if (server.pattern().find('.') == std::string::npos)
            value = {{"tool", server.pattern() + "." + tool.pattern()}};
        else
            value = {{"server", server.pattern()}, {"tool", tool.pattern()}};
        for (auto const& condition : where) value["where"].push_back(condition.to_json());
        if (!annotations.empty()) value["annotations"] = annotations.to_json();
    } else if (auto const* hosts = what_->hosts()) {
        value = {{"host", hosts->host.pattern()}};
        if (hosts->port) value["port"] = *hosts->port;
    } else {
        value = {{"action", detail::subject_to_json(what_->action())}};
    }
    if (uses_) value["uses"] = *uses_;
    if (lifetime_) value["seconds"] = static_cast<double>(lifetime_->count()) / 1000;
    if (for_one_cell_) value["scope"] = "cell";
    return value;
}

IPYBOX_DECL result<grant> grant::from_json(nlohmann::json const& value, std::string const& where) {
    detail::strict_object reader(value, where);
    std::optional<grant> read;
    if (auto const* exact = reader.find("action")) {
        auto subject = detail::subject_from_json(*exact, reader.place("action"));
        if (!subject) return failure(subject);
        read = exactly(*subject);
    } else if (reader.find("host")) {
        read = grant(pattern_or_action(detail::host_pattern_from(reader)));
    } else {
        auto pattern = detail::tool_pattern_from(reader);
        if (!pattern) return failure(pattern);
        read = grant(pattern_or_action(std::move(*pattern)));
    }
    read->uses_ = reader.count("uses");
    read->lifetime_ = reader.seconds("seconds");
    if (auto const scope = reader.text("scope").value_or("session"); scope == "cell")
        read->for_one_cell_ = true;
    else if (scope != "session")
        reader.fail("scope", "session or cell is wanted");
    if (auto finished = reader.finish(); !finished) return failure(finished);
    return std::move(*read);
}

} // namespace ipybox
