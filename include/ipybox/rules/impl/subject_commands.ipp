#pragma once

#include <ipybox/rules/program_word.hpp>
#include <ipybox/rules/subject_commands.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::detail {

/// A command in the words of a command …: beyond this it is not looked for.
inline constexpr int deepest_command = 8;

/// A longer line is handed over on the standard input: a message to the supervisor has 128 KiB.
inline constexpr std::size_t longest_word = std::size_t(32) << 10;

/// Whether the action hands its input to a shell as a script.
inline bool is_script(approval_subject const& subject) {
    return !subject.input.empty() && subject.argv.size() == 1 && is_posix_shell(subject.argv[0]);
}

/// The action's argv as a command.
inline shell_command words_of(approval_subject const& subject) {
    shell_command whole;
    for (auto const& word : subject.argv) whole.words.push_back({word, true});
    return whole;
}

/// A script that a shell has read to its end before it runs anything, and that it reads no further: no command finds a
/// part of it on its standard input.
inline std::string as_script(std::string_view anew) {
    return std::string("{ ").append(anew).append("\n'exit'\n} </dev/null\n");
}

IPYBOX_DECL std::optional<std::string> line_in(approval_subject const& subject) {
    if (!subject.input.empty() || !line_of(words_of(subject))) return std::nullopt;
    return subject.argv[2];
}

IPYBOX_DECL shell_line commands_of(approval_subject const& subject) {
    if (is_script(subject)) return split_shell_line(subject.input, inner_lines::unfolded);
    if (auto const text = line_in(subject)) return split_shell_line(*text, inner_lines::unfolded);
    shell_line line;
    if (!subject.argv.empty()) line.commands.push_back(words_of(subject));
    if (!subject.input.empty()) line.not_clear = "what the program makes of its input";
    return line;
}

IPYBOX_DECL std::optional<judged_program> as_judged(approval_subject const& subject) {
    auto line = commands_of(subject);
    if (!line.understood()) return std::nullopt;
    judged_program made{subject.argv, subject.input};
    bool const by_input = is_script(subject) || line.anew.size() > longest_word;
    if (by_input) {
        made.argv.resize(1);
        made.input = as_script(line.anew);
    } else if (line_in(subject)) {
        made.argv.back() = std::move(line.anew);
    }
    return made;
}

inline void visit_hidden(word_span words, std::function<void(word_span)> const& visit, int depth) {
    visit(words);
    if (depth == deepest_command || words.empty() || !words[0].literal || !takes_command(words[0].text)) return;
    for (std::size_t i = 1; i < words.size(); ++i) {
        visit(words.subspan(i));
        // Any word may be a line: `bash -lc LINE`, `su -c LINE`, `ssh host LINE`, `eval LINE`.
        if (!words[i].literal) continue;
        for (auto const& inner : split_shell_line(words[i].text).commands) visit_hidden(inner.words, visit, depth + 1);
    }
}

IPYBOX_DECL void visit_hidden_commands(word_span command, std::function<void(word_span)> const& visit) {
    visit_hidden(command, visit, 0);
}

} // namespace ipybox::detail
