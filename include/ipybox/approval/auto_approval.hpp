#pragma once

#include <ipybox/approval/approval_policy.hpp>

namespace ipybox {

/// Accepts everything without asking anybody. Never a default; it has to be named.
struct auto_approval {
    [[nodiscard]] decision decide(approval_request const&) const { return decision::accept(); }
};

static_assert(approval_policy<auto_approval>);

} // namespace ipybox
