#pragma once

#include <ipybox/approval/decision.hpp>
#include <ipybox/core/error.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ipybox {

/// Who had the last word about an action.
enum class decided_by {
    switched_off, ///< approval of its kind is off
    rule,         ///< a rule that allows or denies
    grant,        ///< a grant
    policy,       ///< the approval policy, also by an exception or by dropping the request
    no_policy,    ///< the application has no approval policy, and no stream of it is read
    timeout,      ///< `approval_timeout` passed without a decision
    repetition,   ///< the rejection of the same before, in the same cell
    budget,       ///< the cell had its `calls_per_cell`
    cancellation, ///< the end of the cell, or of the session
    audit,        ///< the audit log, which could not be written
    limit,        ///< a bound of the library: what nobody could read is not asked
    sandbox,      ///< the configuration of the sandbox, which names the host
};

/// The enumerator's own name, as in logs.
[[nodiscard]] std::string_view name_of(decided_by who) noexcept;

/// What becomes of an action, and why.
struct ruling {
    decision made;                                       ///< with the reason, if it is rejected
    decided_by by = decided_by::policy;                  ///< who made it
    std::string detail = {};                             ///< which of them: "deny[2]", "grant 3"
    std::optional<std::uint64_t> granted = std::nullopt; ///< number of the grant that was given with it
    std::chrono::steady_clock::duration waited = {};     ///< how long it took

    [[nodiscard]] bool accepted() const noexcept { return made.accepted(); }

    /// Of a rejection, for who wanted the action: errc::approval_timed_out or errc::approval_rejected, with the reason.
    [[nodiscard]] error refusal() const;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/ruling.ipp>
#endif
