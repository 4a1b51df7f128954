#pragma once

#include <ipybox/approval/approval_subject.hpp>
#include <ipybox/approval/match.hpp>
#include <ipybox/approval/shell_line.hpp>
#include <ipybox/approval/wildcard.hpp>
#include <ipybox/core/result.hpp>

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
     * \details Not allowed by any pattern: a command with a redirection, one without words, and a word that a shell has yet to make something of, but
     * where the pattern is open. In shell lines a pattern whose first word has a `*` does not stand for programs that run what their arguments
     * say, such as `env`, `xargs`, `sh`, `python`: these have to be named.
     */
    [[nodiscard]] bool allows(shell_command const& command, approval_subject const& subject, match directory) const;

    /// Whether the command is among those that this is about, its program named with or without a directory, or hidden behind a program that runs others.
    [[nodiscard]] match concerns(shell_command const& command, match directory) const;

    /// Whether the pattern is about the directory.
    [[nodiscard]] match covers_directory(approval_subject const& subject, bool moves) const;
};

namespace detail {

class strict_object;

/// From the members `argv` (the last may be `**`: open), `cwd` and `env` of an object.
[[nodiscard]] command_pattern command_pattern_from(strict_object& object);

} // namespace detail
} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/command_pattern.ipp>
#endif
