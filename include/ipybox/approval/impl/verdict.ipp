#pragma once

#include <ipybox/approval/verdict.hpp>

namespace ipybox {

IPYBOX_DECL error verdict::refusal() const {
    auto const code = by == decided_by::timeout ? errc::approval_timed_out : errc::approval_rejected;
    return error(code, made.reason()).with_decided_by(by);
}

} // namespace ipybox
