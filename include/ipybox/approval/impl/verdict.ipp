#pragma once

#include <ipybox/approval/verdict.hpp>

namespace ipybox::detail {

IPYBOX_DECL error verdict::refusal() const {
    auto const code = by == error::decider::timeout ? errc::approval_timed_out : errc::approval_rejected;
    return error(code, made.reason()).with_decided_by(by);
}

} // namespace ipybox::detail
