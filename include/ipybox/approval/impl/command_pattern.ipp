#pragma once

#include <ipybox/approval/command_pattern.hpp>
#include <ipybox/approval/strict_json.hpp>
#include <ipybox/approval/subject_commands.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace ipybox {
namespace detail {

IPYBOX_DECL bool any_matches(std::vector<wildcard> const& patterns, std::string_view text) {
    return std::any_of(patterns.begin(), patterns.end(), [text](wildcard const& p) { return p.matches(text); });
}

/// How a pattern names a program.
enum class program_name {
    as_written,
    in_any_directory, ///< `rm` is `/bin/rm` too
};

/// Word by word. A word that a shell makes something of can become any number of words.
IPYBOX_DECL match match_words(command_pattern const& pattern, word_span words, program_name name) {
    for (std::size_t i = 0; i < pattern.argv.size(); ++i) {
        if (i == words.size()) return match::no;
        if (!words[i].literal) return match::unsure;
        auto const& wanted = pattern.argv[i];
        bool const by_last_name = i == 0 && name == program_name::in_any_directory;
        if (!wanted.matches(words[i].text) && !(by_last_name && wanted.matches(base_name(words[i].text))))
            return match::no;
    }
    if (pattern.open || words.size() == pattern.argv.size()) return match::yes;
    auto const further = words.subspan(pattern.argv.size());
    bool const may_vanish =
        std::none_of(further.begin(), further.end(), [](shell_word const& word) { return word.literal; });
    return may_vanish ? match::unsure : match::no;
}

} // namespace detail

IPYBOX_DECL bool command_pattern::allows(shell_command const& command, approval_subject const& subject,
                                         match directory) const {
    if (command.words.empty() || command.redirected || directory != match::yes) return false;
    for (auto const& name : command.assigned) {
        if (!detail::any_matches(env, name)) return false;
    }
    for (auto const& [name, unused] : subject.env) {
        if (!detail::any_matches(env, name)) return false;
    }
    bool const named = subject.kind == approval_kind::package || (!argv.empty() && argv.front().is_exact());
    if (!named && detail::runs_others(command.words[0].text)) return false;
    return detail::match_words(*this, command.words, detail::program_name::as_written) == match::yes;
}

IPYBOX_DECL match command_pattern::concerns(shell_command const& command, match directory) const {
    auto found = match::no;
    detail::visit_hidden_commands(command.words, [&](detail::word_span words) {
        if (words.empty()) return;
        found = std::max(found, detail::match_words(*this, words, detail::program_name::in_any_directory));
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
        if (argv->empty()) object.fail("argv", "a program is wanted");
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
