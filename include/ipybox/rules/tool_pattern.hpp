#pragma once

#include <ipybox/rules/annotations_pattern.hpp>
#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/rules/argument_constraint.hpp>
#include <ipybox/rules/match.hpp>
#include <ipybox/rules/wildcard.hpp>

#include <string_view>
#include <vector>

namespace ipybox {

/// Calls of tools, by the names of server and tool, by what the arguments are, and by what the tool says about its
/// effects.
struct tool_pattern {
    wildcard server = {};                        ///< name of the server
    wildcard tool = {};                          ///< name of the tool
    std::vector<argument_constraint> where = {}; ///< all of them
    annotations_pattern annotations = {};        ///< of the tool

    /// From `server.tool`, both wildcards: `pay.*`. The part before the first dot is the server; without a dot all of a
    /// server's tools are meant.
    [[nodiscard]] static tool_pattern named(std::string_view pattern);

    /// Names are the host's: the one that the server was registered under, the one that the server has for the tool.
    /// `match::unsure` where they are the same in Python only (`get_sum` for `get-sum`): what denies them then asks,
    /// what allows them does not.
    [[nodiscard]] match covers(approval_subject const& subject) const;
};

namespace detail {

class strict_object;

/// From the members `tool`, `server`, `where`, `annotations` of an object: `tool` is `server.tool`, or the tool alone
/// where there is a `server`.
[[nodiscard]] result<tool_pattern> tool_pattern_from(strict_object& object);

} // namespace detail

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/tool_pattern.ipp>
#endif
