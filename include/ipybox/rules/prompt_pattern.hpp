#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/rules/match.hpp>
#include <ipybox/rules/wildcard.hpp>

namespace ipybox {

/**
 * \brief Prompts of MCP servers, as rules describe them: by the server, and by their names.
 * \details The list of the prompts that a server has is the one with an empty name.
 */
struct prompt_pattern {
    wildcard server = {}; ///< its name
    wildcard prompt = {}; ///< the name of the prompt

    /// Whether the request is among those that this is about.
    [[nodiscard]] match covers(approval_subject const& subject) const {
        return match_if(subject.kind == approval_subject::action::prompt && server.matches(subject.server) &&
                        prompt.matches(subject.prompt));
    }
};

namespace detail {

class strict_object;

/// From the members `server` and `prompt` of an object; missing ones are everything.
[[nodiscard]] prompt_pattern prompt_pattern_from(strict_object& object);

} // namespace detail

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/prompt_pattern.ipp>
#endif
