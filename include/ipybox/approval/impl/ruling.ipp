#pragma once

#include <ipybox/approval/ruling.hpp>

namespace ipybox {

IPYBOX_DECL std::string_view name_of(decided_by who) noexcept {
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

IPYBOX_DECL error ruling::refusal() const {
    auto const code = by == decided_by::timeout ? errc::approval_timed_out : errc::approval_rejected;
    return {code, made.reason()};
}

} // namespace ipybox
