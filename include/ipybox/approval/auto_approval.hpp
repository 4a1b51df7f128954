#pragma once

#include <ipybox/approval/approval_policy.hpp>

namespace ipybox {

/// Accepts everything without a question. Never a default; it has to be named.
struct auto_approval {
    /// The decision about every action.
    [[nodiscard]] decision decide(approval_request const&) const { return decision::accept(); }
};

static_assert(approval_policy<auto_approval>);

} // namespace ipybox
