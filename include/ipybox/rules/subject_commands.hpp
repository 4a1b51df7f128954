#pragma once

#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/rules/shell_line.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ipybox::detail {

/**
 * \brief The commands that an action runs.
 * \details The line of `sh -c LINE` and the script on the standard input of `sh` are split; so is a `sh -c LINE` in
 * them. Anything else is one command of literal words, the first of which names one program, as the supervisor executes
 * it: it is not a line, whatever is in it. With standard input the command is not understood, as its program may do
 * anything with that.
 */
[[nodiscard]] shell_line commands_of(approval_subject const& subject);

/// LINE of an action that is `sh -c LINE`.
[[nodiscard]] std::optional<std::string> line_in(approval_subject const& subject);

/// A program as it is started where its commands were judged, and not its text.
struct judged_program {
    std::vector<std::string> argv;
    std::string input; ///< on its standard input
};

/**
 * \brief The line that is run for an action that was accepted for its commands: no shell gets to read the text that was
 * judged.
 * \details A line is written anew, with every literal word in quotes: were it read differently here than by a shell, a
 * command could fail, but it could not become another one. Other words stay as they are. None where the line
 * is not understood.
 */
[[nodiscard]] std::optional<judged_program> as_judged(approval_subject const& subject);

/// Some words of a command: a program and its arguments.
using word_span = std::span<shell_word const>;

/// Calls `visit` with the command and, where its program runs what its arguments say (`env`, `xargs`, `find`, `sh`),
/// with all that it may run.
void visit_hidden_commands(word_span command, std::function<void(word_span)> const& visit);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/subject_commands.ipp>
#endif
