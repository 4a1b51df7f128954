#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/rules/match.hpp>
#include <ipybox/rules/wildcard.hpp>

namespace ipybox {

/**
 * \brief Resources of MCP servers, as rules describe them: by the server, and by their URI.
 * \details The list of the resources that a server has is the one with an empty URI.
 */
struct resource_pattern {
    wildcard server = {}; ///< its name
    wildcard uri = {};    ///< the whole URI, as code writes it

    /// Whether the request is among those that this is about: `match::unsure` where the URI can be written in another
    /// way that decides otherwise.
    [[nodiscard]] match covers(approval_subject const& subject) const;
};

namespace detail {

class strict_object;

/// From the members `server` and `uri` of an object; missing ones are everything.
[[nodiscard]] resource_pattern resource_pattern_from(strict_object& object);

} // namespace detail

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/resource_pattern.ipp>
#endif
