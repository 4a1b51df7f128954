#pragma once

#include <ipybox/approval/approval_subject.hpp>
#include <ipybox/approval/shell_line.hpp>

#include <functional>
#include <span>
#include <string_view>

namespace ipybox::detail {

/**
 * \brief The commands that an action runs.
 * \details The line of `sh -c LINE`, the script on the standard input of `sh`, and a line that is all there is, are split; so is a `sh -c LINE` in them.
 * Any other program is one command of literal words; with standard input it is not understood, for who knows what the program does with it.
 */
[[nodiscard]] shell_line commands_of(approval_subject const& subject);

/// Some words of a command: a program and its arguments.
using word_span = std::span<shell_word const>;

/// Calls `visit` with the command and, where its program runs what its arguments say (`env`, `xargs`, `find`, `sh`), with all that it may run.
void visit_hidden_commands(word_span command, std::function<void(word_span)> const& visit);

/// True for a program that runs what its arguments say, or changes what later commands of a shell mean. A list of the usual ones.
[[nodiscard]] bool runs_others(std::string_view program);

/// "ls" of "/bin/ls".
[[nodiscard]] std::string_view base_name(std::string_view program);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/subject_commands.ipp>
#endif
