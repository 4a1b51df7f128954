#pragma once

#include <ipybox/job.hpp>
#include <ipybox/session/job_core.hpp>
#include <ipybox/session/session_handle.hpp>

#include <utility>

namespace ipybox {

IPYBOX_DECL job::job(std::shared_ptr<detail::job_core> core) noexcept : core_(std::move(core)) {}

IPYBOX_DECL std::string const& job::id() const noexcept { return core_->id(); }
IPYBOX_DECL detail::job_state job::state() const { return core_->state(); }
IPYBOX_DECL bool job::wait(std::chrono::milliseconds bound) const { return core_->wait(bound); }
IPYBOX_DECL ipybox::result<execution_result> job::result() const { return core_->outcome(); }

IPYBOX_DECL detail::job_output job::output(std::uint64_t from, std::uint64_t to) const {
    return core_->output(from, to);
}

IPYBOX_DECL detail::job_output job::preview(std::uint64_t from) const {
    return core_->output(from, npos, detail::output_text_use::look);
}

IPYBOX_DECL void job::interrupt() const {
    if (auto const session = core_->session()) session->interrupt_execution(core_->of_session());
}

IPYBOX_DECL void job::cancel() const {
    if (auto const session = core_->session()) session->cancel_execution(core_->of_session());
}

IPYBOX_DECL void job::start_wait(std::shared_ptr<detail::job_core> const& core, std::chrono::milliseconds bound,
                                 detail::completion<bool> done) {
    auto const wait = std::make_shared<detail::job_wait>(std::move(done));
    auto const session = core->session();
    if (session && core->add(wait))
        session->limit(core, wait, bound);
    else
        wait->complete(core->state() == detail::job_state::ended);
}

IPYBOX_DECL std::shared_ptr<detail::executor_lender const> job::lender_of(detail::job_core const& core) {
    auto session = core.session();
    return session ? std::move(session) : detail::session_handle::closed();
}

} // namespace ipybox
