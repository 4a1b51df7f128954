#pragma once

#include <ipybox/core/config.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::detail {

/// A shell line in its parts.
struct shell_line {
    /// One word of a command line.
    struct word {
        std::string text;    ///< without its quotes
        bool literal = true; ///< the program gets exactly this text. Otherwise a shell makes something of it: `$x`,
                             ///< `*.py`, `~`; any number of words
    };

    /// One command of a shell line: what a shell would start without splitting any further.
    struct command {
        std::vector<std::string> assigned = {}; ///< variables that are set for it, or, without words, in the shell
        std::vector<word> words = {};           ///< program and arguments
        bool redirected = false;                ///< a file other than /dev/null is opened for it

        /// Whether there is nothing of a command.
        [[nodiscard]] bool empty() const noexcept { return assigned.empty() && words.empty() && !redirected; }
    };

    std::vector<command> commands;        ///< also those of subshells and substitutions
    std::optional<std::string> not_clear; ///< what was not understood: then there may be more commands, or others

    /// The line once more, from its parts: every literal word in single quotes, so that any shell reads what was read
    /// here. Of use where the line is understood.
    std::string anew;

    /// Every command that a shell may start for the line is in `commands`.
    [[nodiscard]] bool understood() const noexcept { return !not_clear; }
};

using shell_word = shell_line::word;
using shell_command = shell_line::command;

/// Whether `sh -c LINE` in a line is one command, or those of its own line.
enum class inner_lines { kept, unfolded };

/**
 * \brief Splits a line, or a whole script, for a POSIX shell into its commands, and writes it anew.
 * \details Splits at `&&`, `||`, `;`, `|`, `&` and line ends, goes into `( )`, `$( )` and backticks, takes off
 * assignments and redirections. It knows the part of the language that dash, bash and their relatives read alike. All
 * else makes the line not understood: reserved words, functions, here-documents, process substitution, arithmetic,
 * `${x…}` with an operator, `$'…'`, `&>`, `{x}>`, a backslash at the end of a line, a command whose name is computed,
 * control characters. Splitting goes on then as well as it can, for those who look for what is forbidden.
 */
[[nodiscard]] shell_line split_shell_line(std::string_view text, inner_lines how = inner_lines::kept);

/// LINE of a command that is exactly `sh -c LINE`, nothing set for it and nothing redirected.
[[nodiscard]] std::optional<std::string_view> line_of(shell_command const& command);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/shell_line.ipp>
#endif
