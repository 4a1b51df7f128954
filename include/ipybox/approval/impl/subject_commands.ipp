#pragma once

#include <ipybox/approval/subject_commands.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace ipybox::detail {

/// A line in a line in a line …: beyond this it is not understood.
inline constexpr int deepest_line = 8;

IPYBOX_DECL std::string_view base_name(std::string_view program) {
    return program.substr(program.rfind('/') + 1); // npos + 1 is 0
}

IPYBOX_DECL bool is_posix_shell(std::string_view program) {
    for (std::string_view const directory : {"/bin/", "/usr/bin/"}) {
        if (program.starts_with(directory)) program.remove_prefix(directory.size());
    }
    return program == "sh" || program == "bash" || program == "dash";
}

IPYBOX_DECL bool runs_others(std::string_view program) {
    static constexpr auto names = std::to_array<std::string_view>(
        {".",       "alias",    "ash",     "awk",     "bash",    "builtin", "bun",     "busybox",     "capsh",
         "chroot",  "command",  "dash",    "declare", "deno",    "doas",    "docker",  "ed",          "emacs",
         "enable",  "env",      "eval",    "exec",    "expect",  "export",  "find",    "fish",        "flock",
         "gawk",    "gdb",      "hash",    "ionice",  "ipython", "java",    "ksh",     "ld.so",       "local",
         "ltrace",  "lua",      "make",    "mawk",    "nawk",    "nice",    "node",    "nohup",       "npx",
         "nsenter", "parallel", "perl",    "php",     "pipx",    "podman",  "python",  "rbash",       "readonly",
         "rsync",   "ruby",     "runuser", "script",  "sed",     "set",     "setpriv", "setsid",      "sh",
         "shopt",   "source",   "ssh",     "stdbuf",  "strace",  "su",      "sudo",    "systemd-run", "taskset",
         "tclsh",   "time",     "timeout", "toybox",  "trap",    "typeset", "unalias", "unset",       "unshare",
         "uv",      "uvx",      "vi",      "vim",     "watch",   "wish",    "xargs",   "xterm",       "zsh"});
    static_assert(std::is_sorted(names.begin(), names.end()));
    auto name = base_name(program);
    while (!name.empty() && (name.back() == '.' || (name.back() >= '0' && name.back() <= '9')) && name != ".")
        name.remove_suffix(1); // python3.11
    return std::binary_search(names.begin(), names.end(), name);
}

/// LINE of a command that is exactly `sh -c LINE`, nothing set for it and nothing redirected.
IPYBOX_DECL std::optional<std::string_view> line_of(shell_command const& command) {
    auto const& words = command.words;
    bool const all_literal = std::all_of(words.begin(), words.end(), [](auto const& word) { return word.literal; });
    if (!all_literal || words.size() != 3 || command.redirected || !command.assigned.empty()) return std::nullopt;
    if (!is_posix_shell(words[0].text) || words[1].text != "-c") return std::nullopt;
    return words[2].text;
}

/// Splits the lines in a line.
IPYBOX_DECL shell_line unfold(std::string_view text, int depth) {
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
    bool const by_shell = subject.kind == approval_kind::shell || subject.kind == approval_kind::shell_magic;
    if (by_shell && subject.input.empty()) {
        if (auto const line = line_of(whole)) return unfold(*line, 0);
        // A program of that name, or a line for a shell: the line is the same in both cases, or not understood.
        if (argv.size() == 1) return unfold(argv[0], 0);
    }
    if (by_shell && !subject.input.empty() && argv.size() == 1 && is_posix_shell(argv[0]))
        return unfold(subject.input, 0);
    shell_line line;
    if (!argv.empty()) line.commands.push_back(std::move(whole));
    if (!subject.input.empty()) line.not_clear = "what the program makes of its input";
    return line;
}

IPYBOX_DECL void visit_hidden(word_span words, std::function<void(word_span)> const& visit, int depth) {
    visit(words);
    if (depth == deepest_line || words.empty() || !words[0].literal || !runs_others(words[0].text)) return;
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
