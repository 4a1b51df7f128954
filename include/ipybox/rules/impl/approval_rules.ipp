#pragma once

#include <ipybox/core/strict_json.hpp>
#include <ipybox/os/read_file.hpp>
#include <ipybox/rules/approval_rules.hpp>
#include <ipybox/rules/command_pattern.hpp>
#include <ipybox/rules/host_pattern.hpp>
#include <ipybox/rules/prompt_pattern.hpp>
#include <ipybox/rules/resource_pattern.hpp>
#include <ipybox/rules/server_pattern.hpp>
#include <ipybox/rules/subject_commands.hpp>
#include <ipybox/rules/subject_json.hpp>
#include <ipybox/rules/tool_pattern.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

struct approval_rule {
    std::vector<approval_subject::action> kinds = {}; ///< what it is about
    tool_pattern tool = {};                           ///< for tools
    server_pattern server = {};                       ///< for registrations of servers
    command_pattern command = {};                     ///< for what is executed
    host_pattern host = {};                           ///< for connections
    resource_pattern resource = {};                   ///< for resources of servers
    prompt_pattern prompt = {};                       ///< for prompts of servers
    std::string name = {};                            ///< "deny[2]"
    std::string reason = {};

    /// Whether it is about an action that is no command.
    [[nodiscard]] match covers(approval_subject const& subject) const {
        switch (subject.kind) {
        case approval_subject::action::tool: return tool.covers(subject);
        case approval_subject::action::server: return server.concerns(subject);
        case approval_subject::action::network: return match_if(host.covers(subject));
        case approval_subject::action::resource: return resource.covers(subject);
        case approval_subject::action::prompt: return prompt.covers(subject);
        case approval_subject::action::shell:
        case approval_subject::action::shell_magic:
        case approval_subject::action::package: return match::no;
        }
        return match::no;
    }

    [[nodiscard]] bool is_about(approval_subject::action kind) const {
        return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    }
};

inline std::vector<approval_subject::action> kinds_from(nlohmann::json const& value, detail::rule_effect effect,
                                                        strict_object& object) {
    if (object.text("kind")) return {kind_from(object)};
    bool const is_command = value.is_object() && (value.contains("argv") || value.contains("cwd"));
    // Which kind a command has is the kernel's word: what must not run must not run by another name either.
    if (is_command && effect != detail::rule_effect::allow)
        return {approval_subject::action::shell, approval_subject::action::shell_magic,
                approval_subject::action::package};
    if (is_command) return {approval_subject::action::shell, approval_subject::action::shell_magic};
    return {approval_subject::action::tool};
}

inline void check_command(command_pattern const& command, detail::rule_effect effect, strict_object& object) {
    // A rule that denies would not see a command that sets no variable.
    if (effect != detail::rule_effect::allow && !command.env.empty())
        object.fail("env", "only a rule that allows has it");
    if (effect == detail::rule_effect::allow) require_named_program(command, object);
}

inline result<approval_rule> rule_from(nlohmann::json const& value, std::string place, detail::rule_effect effect) {
    strict_object object(value, std::move(place));
    approval_rule read;
    read.kinds = kinds_from(value, effect, object);
    if (read.is_about(approval_subject::action::tool)) {
        auto pattern = tool_pattern_from(object);
        if (!pattern) return failure(pattern);
        read.tool = std::move(*pattern);
    } else if (read.is_about(approval_subject::action::server)) {
        read.server = server_pattern_from(object);
        if (read.server.command) check_command(*read.server.command, effect, object);
    } else if (read.is_about(approval_subject::action::network)) {
        read.host = host_pattern_from(object);
    } else if (read.is_about(approval_subject::action::resource)) {
        read.resource = resource_pattern_from(object);
    } else if (read.is_about(approval_subject::action::prompt)) {
        read.prompt = prompt_pattern_from(object);
    } else {
        read.command = command_pattern_from(object);
        check_command(read.command, effect, object);
    }
    read.reason = object.text("reason").value_or("");
    if (auto finished = object.finish(); !finished) return failure(finished);
    return read;
}

inline result<std::vector<approval_rule>> rules_from(strict_object& document, detail::rule_effect effect) {
    std::string_view const name = effect == detail::rule_effect::allow ? "allow"
                                  : effect == detail::rule_effect::ask ? "ask"
                                                                       : "deny";
    std::vector<approval_rule> read;
    auto const* entries = document.array(name);
    for (std::size_t i = 0; entries && i < entries->size(); ++i) {
        auto const number = std::to_string(i);
        auto rule = rule_from((*entries)[i], document.place(name) + "/" + number, effect);
        if (!rule) return failure(rule);
        rule->name = std::string(name) + "[" + number + "]";
        read.push_back(std::move(*rule));
    }
    return read;
}

} // namespace detail

struct approval_rules::book {
    std::vector<detail::approval_rule> allow;
    std::vector<detail::approval_rule> ask;
    std::vector<detail::approval_rule> deny;

    [[nodiscard]] detail::matched_rule judge_call(approval_subject const& subject) const;
    [[nodiscard]] detail::matched_rule judge_commands(approval_subject const& subject) const;
};

IPYBOX_DECL result<approval_rules> approval_rules::parse(std::string_view text, std::string_view name) {
    auto const value = detail::parse_strictly(text, name);
    if (!value) return failure(value.error());
    detail::strict_object document(*value, std::string(name));
    auto allow = detail::rules_from(document, detail::rule_effect::allow);
    if (!allow) return failure(allow);
    auto ask = detail::rules_from(document, detail::rule_effect::ask);
    if (!ask) return failure(ask);
    auto deny = detail::rules_from(document, detail::rule_effect::deny);
    if (!deny) return failure(deny);
    if (auto finished = document.finish(); !finished) return failure(finished);
    book read{std::move(*allow), std::move(*ask), std::move(*deny)};
    return approval_rules(std::make_shared<book const>(std::move(read)));
}

IPYBOX_DECL result<approval_rules> approval_rules::load(std::filesystem::path const& file) {
    constexpr std::size_t longest = std::size_t(1) << 20;
    auto const text = os::read_file(file, "the approval rules " + file.string(), longest);
    if (!text) return failure(text.error());
    return parse(*text, file.string());
}

IPYBOX_DECL detail::matched_rule approval_rules::judge(approval_subject const& subject) const {
    if (!book_) return {};
    switch (subject.kind) {
    case approval_subject::action::tool:
    case approval_subject::action::server:
    case approval_subject::action::network:
    case approval_subject::action::resource:
    case approval_subject::action::prompt: return book_->judge_call(subject);
    case approval_subject::action::shell:
    case approval_subject::action::shell_magic:
    case approval_subject::action::package: return book_->judge_commands(subject);
    }
    return {};
}

IPYBOX_DECL detail::matched_rule approval_rules::book::judge_call(approval_subject const& subject) const {
    auto const covers = [&subject](detail::approval_rule const& r) {
        return r.is_about(subject.kind) ? r.covers(subject) : match::no;
    };
    auto const allows = [&](detail::approval_rule const& r) {
        bool const is_server = subject.kind == approval_subject::action::server && r.is_about(subject.kind);
        return is_server ? r.server.allows(subject) : covers(r) == match::yes;
    };
    detail::matched_rule found;
    for (auto const& r : deny) {
        auto const covered = covers(r);
        if (covered == match::yes) return {detail::rule_effect::deny, r.name, r.reason};
        if (covered == match::unsure) found = {detail::rule_effect::ask, r.name, "it may be denied"};
    }
    for (auto const& r : ask) {
        if (found.rule.empty() && covers(r) != match::no) found = {detail::rule_effect::ask, r.name, r.reason};
    }
    for (auto const& r : allow) {
        if (found.rule.empty() && allows(r)) found = {detail::rule_effect::allow, r.name, ""};
    }
    return found;
}

IPYBOX_DECL detail::matched_rule approval_rules::book::judge_commands(approval_subject const& subject) const {
    auto const line = detail::commands_of(subject);
    auto const& commands = line.commands;
    // If the shell changes the directory in between, it is unknown what a directory in a rule has to do with the other
    // commands.
    bool const moves = std::any_of(commands.begin(), commands.end(), [](detail::shell_command const& command) {
        static constexpr std::array<std::string_view, 4> movers{"cd", "chdir", "pushd", "popd"};
        return !command.words.empty() && std::find(movers.begin(), movers.end(), command.words[0].text) != movers.end();
    });
    auto const concerns = [&](detail::approval_rule const& r) {
        auto found = match::no;
        if (!r.is_about(subject.kind)) return found;
        auto const directory = r.command.covers_directory(subject, moves);
        for (auto const& command : commands) found = std::max(found, r.command.concerns(command, subject, directory));
        return found;
    };
    auto const allows = [&](detail::approval_rule const& r, detail::shell_command const& command) {
        return r.is_about(subject.kind) &&
               r.command.allows(command, subject, r.command.covers_directory(subject, moves));
    };

    detail::matched_rule found;
    for (auto const& r : deny) {
        auto const concerned = concerns(r);
        if (concerned == match::yes) return {detail::rule_effect::deny, r.name, r.reason};
        if (concerned == match::unsure) found = {detail::rule_effect::ask, r.name, "it may be denied"};
    }
    if (!found.rule.empty()) return found;
    if (!line.understood()) return {detail::rule_effect::ask, "", "not understood: " + *line.not_clear};
    for (auto const& r : ask) {
        if (concerns(r) != match::no) return {detail::rule_effect::ask, r.name, r.reason};
    }
    for (auto const& command : commands) {
        auto const by = std::find_if(allow.begin(), allow.end(),
                                     [&](detail::approval_rule const& r) { return allows(r, command); });
        if (by == allow.end()) return {};
        found.effect = detail::rule_effect::allow;
        if (found.rule.find(by->name) == std::string::npos) found.rule += (found.rule.empty() ? "" : ", ") + by->name;
    }
    return found;
}

} // namespace ipybox
