#pragma once

#include <ipybox/core/strict_json.hpp>
#include <ipybox/rules/command_pattern.hpp>
#include <ipybox/rules/program_word.hpp>
#include <ipybox/rules/subject_commands.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace ipybox {
namespace detail {

inline bool any_matches(std::vector<wildcard> const& patterns, std::string_view text) {
    return std::any_of(patterns.begin(), patterns.end(), [text](wildcard const& p) { return p.matches(text); });
}

/// How the first word of a pattern is compared with a program.
enum class program_name {
    as_written,
    wherever_it_is ///< `rm` is `/bin/rm` too, and `/bin/rm` may be meant by `rm`
};

/// Whether the pattern's program is the one that the word names, in whichever directory.
inline match names_program(wildcard const& wanted, std::string_view word, std::filesystem::path const& cwd) {
    auto const name = base_name(word);
    if (wanted.matches(word) || wanted.matches(name)) return match::yes;
    auto const has_path = wanted.pattern().find('/') != std::string::npos;
    if (!has_path) return match::no;
    auto const resolved = (cwd / word).lexically_normal(); // an absolute word stays as it is
    if (word.find('/') != std::string_view::npos && wanted.matches(resolved.native())) return match::yes;
    // PATH may lead there, and so may a link.
    return wildcard(base_name(wanted.pattern())).matches(name) ? match::unsure : match::no;
}

/// Word by word. A word that a shell makes something of can become any number of words.
inline match match_words(command_pattern const& pattern, word_span words, program_name name,
                         std::filesystem::path const& cwd) {
    auto found = match::yes;
    for (std::size_t i = 0; i < pattern.argv.size(); ++i) {
        if (i == words.size()) return match::no;
        if (!words[i].literal) return match::unsure;
        bool const is_program = i == 0 && name == program_name::wherever_it_is;
        auto const& wanted = pattern.argv[i];
        found = both(found,
                     is_program ? names_program(wanted, words[i].text, cwd) : match_if(wanted.matches(words[i].text)));
        if (found == match::no) return match::no;
    }
    if (pattern.open || words.size() == pattern.argv.size()) return found;
    auto const further = words.subspan(pattern.argv.size());
    bool const may_vanish =
        std::none_of(further.begin(), further.end(), [](detail::shell_word const& word) { return word.literal; });
    return may_vanish ? match::unsure : match::no;
}

/// Whether only one command matches the pattern.
inline bool is_written_out(command_pattern const& pattern) {
    return !pattern.open &&
           std::all_of(pattern.argv.begin(), pattern.argv.end(), [](wildcard const& word) { return word.is_exact(); });
}

/// Whether the system's `sh` may compute what another shell takes for a number.
inline bool sh_computes() {
    std::error_code failed;
    auto const shell = std::filesystem::canonical("/bin/sh", failed);
    return failed || !is_plain_shell(shell.native());
}

/// Whether bash's `printf` assigns to a variable by this format: `%n`.
inline bool format_assigns(std::string_view format) {
    for (std::size_t at = format.find('%'); at < format.size(); at = format.find('%', at + 1)) {
        at = format.find_first_not_of("-+ #'.*0123456789hlLjqtz", at + 1);
        if (at >= format.size()) return false;
        if (format[at] == 'n') return true;
    }
    return false;
}

/// Whether the words behind `printf` make it assign to a variable, or may.
inline bool printf_assigns(word_span arguments) {
    if (!arguments.empty() && arguments[0].literal && arguments[0].text == "--") arguments = arguments.subspan(1);
    if (arguments.empty()) return false;
    auto const& format = arguments[0];
    return !format.literal || format.text.starts_with("-v") || format_assigns(format.text);
}

/// Whether a shell may evaluate a word of the command once more: it assigns to `'a[$(x)]'`, tests `-v` of it, or, in
/// some shells, computes it.
inline bool evaluates_words(word_span words) {
    auto const program = base_name(words[0].text);
    if (is_shell_state(program)) return true;
    bool const tests = program == "test" || program == "[";
    bool const prints = program == "printf";
    if (!tests && !prints && !takes_numbers(program)) return false;
    auto const arguments = words.subspan(1);
    if (prints && printf_assigns(arguments)) return true;
    return std::any_of(arguments.begin(), arguments.end(), [tests](detail::shell_word const& word) {
        if (!word.literal) return tests || sh_computes(); // may become `-v` and its word
        auto const bracket = word.text.find('[');
        bool const computes =
            bracket != std::string::npos && word.text.find_first_of("$`", bracket) != std::string::npos;
        return computes || (tests && (word.text == "-v" || word.text == "-R"));
    });
}

/// Whether a wildcard may stand for the program: not for one that runs what its arguments say, and only for what is
/// read in one way.
inline bool suits_wildcard(std::string_view program) {
    if (!is_plain_program(program) || runs_others(program)) return false;
    if (!program.starts_with('/')) return true;
    // Only of a path that the pattern has: the code cannot make the host look anywhere else.
    std::error_code failed;
    auto const resolved = std::filesystem::canonical(program, failed);
    return !failed && !runs_others(resolved.native());
}

/// "pip install x" of "PYTHON -m pip install x", as `%pip` runs it, where PYTHON is the kernel's own interpreter; else
/// nothing.
inline word_span as_module(word_span words, approval_subject const& subject) {
    bool const is_module = subject.kind == approval_subject::action::package && words.size() > 2 &&
                           !subject.interpreter.empty() && words[0].text == subject.interpreter.native() &&
                           words[1].literal && words[1].text == "-m" && words[2].literal;
    return is_module ? words.subspan(2) : word_span();
}

inline bool allows_words(command_pattern const& pattern, word_span words, approval_subject const& subject) {
    if (words.empty() || !words[0].literal) return false;
    if (match_words(pattern, words, program_name::as_written, subject.cwd) != match::yes) return false;
    if (is_written_out(pattern)) return true;
    if (evaluates_words(words)) return false;
    bool const named = !pattern.argv.empty() && pattern.argv.front().is_exact();
    return named || suits_wildcard(words[0].text);
}

} // namespace detail

IPYBOX_DECL bool command_pattern::allows(detail::shell_command const& command, approval_subject const& subject,
                                         match directory) const {
    if (command.words.empty() || command.redirected || directory != match::yes) return false;
    for (auto const& name : command.assigned) {
        if (!detail::any_matches(env, name)) return false;
    }
    for (auto const& [name, unused] : subject.env) {
        if (!detail::any_matches(env, name)) return false;
    }
    return detail::allows_words(*this, command.words, subject) ||
           detail::allows_words(*this, detail::as_module(command.words, subject), subject);
}

IPYBOX_DECL match command_pattern::concerns(detail::shell_command const& command, approval_subject const& subject,
                                            match directory) const {
    auto found = match::no;
    detail::visit_hidden_commands(command.words, [&](detail::word_span words) {
        if (words.empty()) return;
        auto const matched = detail::match_words(*this, words, detail::program_name::wherever_it_is, subject.cwd);
        found = std::max(found, matched);
    });
    return both(found, directory);
}

IPYBOX_DECL match command_pattern::covers_directory(approval_subject const& subject, bool moves) const {
    if (cwd.pattern() == "*") return match::yes;
    auto const& where = subject.cwd;
    bool const plain = where.is_absolute() && where.native() == where.lexically_normal().native();
    if (moves || !plain) return match::unsure;
    return match_if(cwd.matches(where.native()));
}

IPYBOX_DECL void detail::require_named_program(command_pattern const& pattern, strict_object& object) {
    if (pattern.argv.empty())
        return object.fail("argv", "a rule that allows names its program: [\"git\", \"status\", \"**\"]");
    auto const& program = pattern.argv.front().pattern();
    if (program.starts_with('*') || base_name(program).starts_with('*'))
        return object.fail("argv",
                           "a rule that allows names its program: \"" + program +
                               "\" stands for programs that run any other, such as env; list those that are meant");
    bool const relative = program.find('/') != std::string::npos && !program.starts_with('/');
    if (relative && pattern.cwd.pattern() == "*")
        object.fail("cwd",
                    "a relative path (\"" + program + "\") is another program in every directory: name the directory");
}

IPYBOX_DECL command_pattern detail::command_pattern_from(strict_object& object) {
    command_pattern pattern;
    if (auto const* argv = object.array("argv")) {
        pattern.open = false;
        for (std::size_t i = 0; i < argv->size(); ++i) {
            auto const& word = (*argv)[i];
            if (!word.is_string()) {
                object.fail("argv", "an array of texts is wanted");
            } else if (word == "**") {
                if (i + 1 < argv->size()) object.fail("argv", "\"**\" can only be the last");
                pattern.open = true;
            } else {
                pattern.argv.emplace_back(word.get_ref<std::string const&>());
            }
        }
        if (pattern.argv.empty()) object.fail("argv", "a program is wanted");
    }
    if (auto const cwd = object.text("cwd")) pattern.cwd = wildcard(*cwd);
    if (auto const* env = object.array("env")) {
        for (auto const& name : *env) {
            if (name.is_string())
                pattern.env.emplace_back(name.get_ref<std::string const&>());
            else
                object.fail("env", "an array of names of variables is wanted");
        }
    }
    return pattern;
}

} // namespace ipybox
