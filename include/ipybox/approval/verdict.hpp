#pragma once

#include <ipybox/approval/decision.hpp>
#include <ipybox/core/error.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace ipybox::detail {

/// The decision about an action, and the reason.
struct verdict {
    decision made;                                       ///< with the reason, if it is rejected
    error::decider by = error::decider::policy;          ///< who made it
    std::string detail = {};                             ///< which of them: "deny[2]", "grant 3"
    std::optional<std::uint64_t> granted = std::nullopt; ///< number of the grant that was given with it
    std::chrono::steady_clock::duration waited = {};     ///< how long it took

    /// Whether the action may be done.
    [[nodiscard]] bool accepted() const noexcept { return made.accepted(); }

    /// Of a rejection, for who wanted the action: errc::approval_timed_out or errc::approval_rejected, with the reason.
    [[nodiscard]] error refusal() const;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/verdict.ipp>
#endif
