#pragma once

#include <ipybox/approval.hpp>
#include <ipybox/async/emit_cancellation.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/executor_base.hpp>
#include <ipybox/services/action_service.hpp>
#include <ipybox/services/approval_service.hpp>
#include <ipybox/session/session_handle.hpp>

#include <asio/cancellation_signal.hpp>

#include <memory>
#include <utility>

namespace ipybox {

IPYBOX_DECL void executor_base::submit_approval(session_ptr const& s, approval_subject subject,
                                                detail::completion<result<std::uint64_t>> done) {
    auto const decide = [subject = std::move(subject)](detail::session& session, auto const& call) {
        auto approvals = session.services().get<detail::approval_service>();
        auto const unwanted = std::make_shared<asio::cancellation_signal>();
        call->on_abandoned([unwanted] { detail::emit_cancellation(*unwanted); });
        spawn(session.executor(), detail::approval_service::approve_own(std::move(approvals), subject),
              delivery_to(call), unwanted->slot());
    };
    s->ask(std::move(done), decide);
}

IPYBOX_DECL void executor_base::record_outcome(std::uint64_t id, detail::action_outcome how) {
    session_->post([id, how = std::move(how)](detail::session& session) {
        session.services().get<detail::approval_service>()->record(id, how);
    });
}

IPYBOX_DECL std::uint64_t executor_base::add_grant(grant what) {
    std::uint64_t number = 0;
    session_->with<detail::approval_service>(
        [&](auto& approvals) { number = approvals.gate().add_grant(std::move(what)); });
    return number;
}

IPYBOX_DECL bool executor_base::revoke_grant(std::uint64_t number) {
    bool revoked = false;
    session_->with<detail::approval_service>([&](auto& approvals) { revoked = approvals.gate().revoke_grant(number); });
    return revoked;
}

IPYBOX_DECL std::vector<grant::active> executor_base::grants() const {
    std::vector<grant::active> list;
    session_->with<detail::approval_service>([&](auto& approvals) { list = approvals.gate().active_grants(); });
    return list;
}

} // namespace ipybox
