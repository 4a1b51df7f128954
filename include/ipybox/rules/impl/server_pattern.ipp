#pragma once

#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/core/strict_json.hpp>
#include <ipybox/rules/server_pattern.hpp>
#include <ipybox/rules/subject_commands.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox {
namespace detail {

/// A server's parameters as a command: what they start, and whether anything else in them has a say in that.
struct registered_program {
    approval_subject subject; ///< of the rule's kind, with directory and variables
    detail::shell_line line;
    bool is_plain = true; ///< the line, its directory and its variables are all that is started
};

inline bool has_variable(std::string_view text) { return text.find("${") != text.npos; }

inline std::string const* text_in(nlohmann::ordered_json const& parameters, char const* name) {
    auto const found = parameters.find(name);
    return found == parameters.end() ? nullptr : found->get_ptr<std::string const*>();
}

template <std::size_t N>
bool has_no_others(nlohmann::ordered_json const& parameters, std::array<std::string_view, N> const& known) {
    auto const is_known = [&](auto const& member) { return std::ranges::find(known, member.key()) != known.end(); };
    auto const members = parameters.items();
    return std::all_of(members.begin(), members.end(), is_known);
}

/// The words of `command` and `args`. One that is not text counts as unknown.
inline std::vector<detail::shell_word> server_words(nlohmann::ordered_json const& parameters,
                                                    std::string const& program) {
    std::vector<detail::shell_word> words{{program, !has_variable(program)}};
    auto const args = parameters.find("args");
    if (args == parameters.end()) return words;
    for (auto const& word : *args) {
        auto const* text = word.get_ptr<std::string const*>();
        words.push_back({text != nullptr ? *text : std::string(), text != nullptr && !has_variable(*text)});
    }
    return words;
}

/// Whether every shell reads a line alike: words of plain letters and in single quotes, and operators.
inline bool is_read_alike(std::string_view line) {
    bool in_quotes = false;
    return std::all_of(line.begin(), line.end(), [&](char c) {
        if (c == '\'') in_quotes = !in_quotes;
        bool const is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        return is_letter || c == '\'' || (in_quotes && c >= ' ' && c <= '~') ||
               std::string_view(" _./:@%+,-=;&|").find(c) != std::string_view::npos;
    });
}

inline std::optional<registered_program> program_in(approval_subject const& subject,
                                                    nlohmann::ordered_json const& parameters) {
    auto const* program = text_in(parameters, "command");
    if (program == nullptr) return std::nullopt;
    registered_program found;
    found.subject.kind = subject.kind;
    auto words = server_words(parameters, *program);
    bool const is_literal = std::ranges::all_of(words, &detail::shell_word::literal);
    for (auto const& word : words) found.subject.argv.push_back(word.text);
    // `sh -c LINE` is what its line is, unless a variable may make another one of it.
    if (is_literal)
        found.line = commands_of(found.subject);
    else
        found.line.commands.push_back({{}, std::move(words), false});
    // A directory that a variable has a part in is not known: no rule is sure about a relative one.
    if (auto const* cwd = text_in(parameters, "cwd")) found.subject.cwd = has_variable(*cwd) ? "unknown" : *cwd;
    auto const env = parameters.find("env");
    if (env != parameters.end() && env->is_object())
        for (auto const& [name, value] : env->items()) found.subject.env.emplace(name, "");
    static constexpr std::array<std::string_view, 6> known{"type", "command", "args", "cwd", "env", "timeout"};
    found.is_plain = is_literal && has_no_others(parameters, known);
    // The server's own start hands the text to the shell.
    if (auto const line = is_literal ? line_in(found.subject) : std::nullopt)
        found.is_plain = found.is_plain && is_read_alike(*line);
    return found;
}

inline nlohmann::ordered_json const& parameters_of(approval_subject const& subject) {
    static auto const& none = detail::never_destroyed<nlohmann::ordered_json>(nlohmann::ordered_json::object());
    return subject.arguments && subject.arguments->is_object() ? *subject.arguments : none;
}

inline match concerns_program(command_pattern const& pattern, registered_program const& program) {
    auto const directory = pattern.covers_directory(program.subject, false);
    auto found = program.line.understood() ? match::no : match::unsure;
    for (auto const& command : program.line.commands)
        found = std::max(found, pattern.concerns(command, program.subject, directory));
    return found;
}

inline bool allows_program(command_pattern const& pattern, registered_program const& program) {
    // A program may look for its code in the directory that it starts in.
    bool const names_directory = pattern.cwd.pattern() != "*";
    if (!program.is_plain || !program.line.understood() || names_directory == program.subject.cwd.empty()) return false;
    auto const directory = pattern.covers_directory(program.subject, false);
    auto const& commands = program.line.commands;
    return !commands.empty() && std::ranges::all_of(commands, [&](detail::shell_command const& command) {
        return pattern.allows(command, program.subject, directory);
    });
}

inline bool allows_url(wildcard const& pattern, nlohmann::ordered_json const& parameters) {
    static constexpr std::array<std::string_view, 3> known{"type", "url", "timeout"};
    auto const* url = text_in(parameters, "url");
    return url != nullptr && !has_variable(*url) && pattern.matches(*url) && has_no_others(parameters, known);
}

inline match concerns_url(wildcard const& pattern, nlohmann::ordered_json const& parameters) {
    for (auto const* name : {"url", "httpUrl", "serverUrl"})
        if (auto const* url = text_in(parameters, name))
            return pattern.matches(*url) ? match::yes : has_variable(*url) ? match::unsure : match::no;
    return match::no;
}

} // namespace detail

IPYBOX_DECL bool server_pattern::allows(approval_subject const& subject) const {
    if (!name.matches(subject.server)) return false;
    auto const& parameters = detail::parameters_of(subject);
    if (url && !detail::allows_url(*url, parameters)) return false;
    if (!command) return true;
    auto const program = detail::program_in(subject, parameters);
    return program && detail::allows_program(*command, *program);
}

IPYBOX_DECL match server_pattern::concerns(approval_subject const& subject) const {
    auto found = match_if(name.matches(subject.server));
    auto const& parameters = detail::parameters_of(subject);
    if (url) found = both(found, detail::concerns_url(*url, parameters));
    if (!command) return found;
    auto const program = detail::program_in(subject, parameters);
    return program ? both(found, detail::concerns_program(*command, *program)) : match::no;
}

IPYBOX_DECL server_pattern detail::server_pattern_from(strict_object& object) {
    server_pattern pattern;
    if (auto const name = object.text("server")) pattern.name = wildcard(*name);
    if (auto const url = object.text("url")) pattern.url = wildcard(*url);
    bool const has_command =
        object.find("argv") != nullptr || object.find("cwd") != nullptr || object.find("env") != nullptr;
    if (has_command) pattern.command = command_pattern_from(object);
    if (has_command && pattern.url) object.fail("url", "a server is started by argv or reached by url, not both");
    return pattern;
}

} // namespace ipybox
