#pragma once

#include <ipybox/approval/approval_policy.hpp>

namespace ipybox {

/// Rejects everything: code may compute, but do nothing that needs approval.
struct deny_approval {
    /// The decision about every action.
    [[nodiscard]] decision decide(approval_request const&) const {
        return decision::reject("this application approves nothing");
    }
};

static_assert(approval_policy<deny_approval>);

} // namespace ipybox
