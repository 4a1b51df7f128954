#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/rules/command_pattern.hpp>
#include <ipybox/rules/match.hpp>
#include <ipybox/rules/wildcard.hpp>

#include <optional>

namespace ipybox {

/// Registrations of MCP servers: by their names, and by the program that is started or the URL that is reached.
struct server_pattern {
    wildcard name = {};                          ///< that the server is to be registered under
    std::optional<command_pattern> command = {}; ///< its `command` and `args`, `cwd`, and names of `env`; none: any
    std::optional<wildcard> url = {};            ///< of one that is reached over HTTP; none: any

    /**
     * \brief Whether the registration is allowed: only where it is certain what is started.
     * \details Not allowed by a command: a variable (`${NAME}`) in its words, a variable in `env` that is not named, a
     * `cwd` that is not named, and other members that change what is started (`envFile`, `sandbox`). Not allowed by a
     * URL: `headers`, or a variable in the URL. A pattern without a name allows no name that another server has; and
     * none allows a program or arguments in files that code can change.
     */
    [[nodiscard]] bool allows(approval_subject const& subject) const;

    /// Whether the registration is among those that this is about: `match::unsure` where variables decide.
    [[nodiscard]] match concerns(approval_subject const& subject) const;
};

namespace detail {

class strict_object;

/// From the members `server`, `argv`, `cwd`, `env`, `url` of an object.
[[nodiscard]] server_pattern server_pattern_from(strict_object& object);

} // namespace detail

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/server_pattern.ipp>
#endif
