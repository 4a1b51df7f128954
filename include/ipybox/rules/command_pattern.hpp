#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/rules/match.hpp>
#include <ipybox/rules/shell_line.hpp>
#include <ipybox/rules/wildcard.hpp>

#include <vector>

namespace ipybox {

/// Commands, by their words, the directory they run in and the variables that are set for them.
struct command_pattern {
    std::vector<wildcard> argv = {}; ///< one for each word
    bool open = true;                ///< further words may follow
    wildcard cwd = {};               ///< where the command runs
    std::vector<wildcard> env = {};  ///< variables that may be set for it; without one, none may

    /**
     * \brief Whether the command may run if this is allowed: only where that is certain.
     * \details Not allowed by any pattern: a command with a redirection, one without words, and a word that a shell has
     * yet to make something of, but where the pattern is open. A first word with a `*` does not stand for programs that
     * run what their arguments say, such as `env`, `xargs`, `python`, nor for what is not plainly a name or path; the
     * file that a path leads to must be on the host and must not be such a program either. Builtins that evaluate their
     * words again (`read`, `printf -v`) need a pattern without wildcards. For packages `PYTHON -m pip` is `pip`, if
     * PYTHON is the kernel's own.
     */
    [[nodiscard]] bool allows(detail::shell_command const& command, approval_subject const& subject,
                              match directory) const;

    /**
     * \brief Whether the command is among those that this is about, hidden behind a program that runs others too.
     * \details `rm` is the program of that name in any directory; of a path the last name alone is `match::unsure`, as
     * PATH or a link may lead there.
     */
    [[nodiscard]] match concerns(detail::shell_command const& command, approval_subject const& subject,
                                 match directory) const;

    /// Whether the pattern is about the directory.
    [[nodiscard]] match covers_directory(approval_subject const& subject, bool moves) const;
};

namespace detail {

class strict_object;

/// From the members `argv` (the last may be `**`: open), `cwd` and `env` of an object.
[[nodiscard]] command_pattern command_pattern_from(strict_object& object);

/// Of a rule that allows: fails the object where the pattern stands for programs without a name, or for a relative path
/// in every directory.
void require_named_program(command_pattern const& pattern, strict_object& object);

} // namespace detail
} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/command_pattern.ipp>
#endif
