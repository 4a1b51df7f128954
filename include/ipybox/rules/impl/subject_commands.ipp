#pragma once

#include <ipybox/rules/program_word.hpp>
#include <ipybox/rules/subject_commands.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace ipybox::detail {

/// A line in a line in a line …: beyond this it is not understood.
inline constexpr int deepest_line = 8;

inline bool is_posix_shell(std::string_view program) {
    for (std::string_view const directory : {"/bin/", "/usr/bin/"}) {
        if (program.starts_with(directory)) program.remove_prefix(directory.size());
    }
    return program == "sh" || program == "bash" || program == "dash";
}

/// LINE of a command that is exactly `sh -c LINE`, nothing set for it and nothing redirected.
inline std::optional<std::string_view> line_of(shell_command const& command) {
    auto const& words = command.words;
    bool const all_literal = std::all_of(words.begin(), words.end(), [](auto const& word) { return word.literal; });
    if (!all_literal || words.size() != 3 || command.redirected || !command.assigned.empty()) return std::nullopt;
    if (!is_posix_shell(words[0].text) || words[1].text != "-c") return std::nullopt;
    return words[2].text;
}

/// Splits the lines in a line.
inline shell_line unfold(std::string_view text, int depth) {
    auto line = split_shell_line(text);
    if (depth == deepest_line) {
        if (!line.not_clear) line.not_clear = "it nests too deeply";
        return line;
    }
    for (auto& command : std::exchange(line.commands, {})) {
        auto const inner = line_of(command);
        if (!inner) {
            line.commands.push_back(std::move(command));
            continue;
        }
        auto unfolded = unfold(*inner, depth + 1);
        std::move(unfolded.commands.begin(), unfolded.commands.end(), std::back_inserter(line.commands));
        if (!line.not_clear) line.not_clear = std::move(unfolded.not_clear);
    }
    return line;
}

IPYBOX_DECL shell_line commands_of(approval_subject const& subject) {
    auto const& argv = subject.argv;
    shell_command whole;
    for (auto const& word : argv) whole.words.push_back({word, true});
    if (subject.input.empty()) {
        if (auto const line = line_of(whole)) return unfold(*line, 0);
    } else if (argv.size() == 1 && is_posix_shell(argv[0])) {
        return unfold(subject.input, 0);
    }
    shell_line line;
    if (!argv.empty()) line.commands.push_back(std::move(whole));
    if (!subject.input.empty()) line.not_clear = "what the program makes of its input";
    return line;
}

inline void visit_hidden(word_span words, std::function<void(word_span)> const& visit, int depth) {
    visit(words);
    if (depth == deepest_line || words.empty() || !words[0].literal || !takes_command(words[0].text)) return;
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
