#pragma once

#include <string_view>

namespace ipybox {

/// The party that had the last word about an action.
enum class decided_by {
    switched_off, ///< approval of its kind is off
    rule,         ///< a rule that allows or denies
    grant,        ///< a grant
    policy,       ///< the approval policy, also by an exception or by dropping the request
    no_policy,    ///< the application has no approval policy, and no stream of it is read
    timeout,      ///< `approval.timeout` passed without a decision
    repetition,   ///< the rejection of the same before, in the same cell
    budget,       ///< the cell had its `calls_per_cell`
    cancellation, ///< the end of the cell, or of the session
    audit,        ///< the audit log, which could not be written
    limit,        ///< a bound of the library: a question that is too long to read is not asked
    sandbox,      ///< the configuration of the sandbox, which names the host
};

/// The enumerator's own name, as in logs.
[[nodiscard]] constexpr std::string_view name_of(decided_by who) noexcept {
    switch (who) {
    case decided_by::switched_off: return "switched_off";
    case decided_by::rule: return "rule";
    case decided_by::grant: return "grant";
    case decided_by::policy: return "policy";
    case decided_by::no_policy: return "no_policy";
    case decided_by::timeout: return "timeout";
    case decided_by::repetition: return "repetition";
    case decided_by::budget: return "budget";
    case decided_by::cancellation: return "cancellation";
    case decided_by::audit: return "audit";
    case decided_by::limit: return "limit";
    case decided_by::sandbox: return "sandbox";
    }
    return "unknown";
}

} // namespace ipybox
