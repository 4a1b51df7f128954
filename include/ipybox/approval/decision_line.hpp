#pragma once

#include <ipybox/approval/decision.hpp>
#include <ipybox/core/result.hpp>

#include <cstdint>
#include <string_view>

namespace ipybox {

/// A decision that came as text, and which request it answers.
struct decision_line {
    /// The id of the request.
    std::uint64_t id;
    /// The decision about it.
    decision made;
};

/**
 * \brief Reads `{"id": N, "decision": "accept" or "reject", "arguments": {…}, "reason": "…", "grant": {…}}`, one JSON
 * object.
 * \details `arguments` (to use instead) and `grant` go with "accept", `reason` with "reject"; all three may be left
 * out. Nothing else is a decision: other members, a member that stands twice, `true`, "yes" or 1 in place of "accept"
 * are errc::invalid_argument.
 */
[[nodiscard]] result<decision_line> decision_from_json(std::string_view line);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/decision_line.ipp>
#endif
