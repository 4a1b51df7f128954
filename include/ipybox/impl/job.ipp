#pragma once

#include <ipybox/job.hpp>
#include <ipybox/session/job_core.hpp>
#include <ipybox/session/session_handle.hpp>

#include <chrono>
#include <memory>
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
    auto const session = core_->session();
    auto const e = core_->of_session();
    if (session && e) session->post([e](detail::session& s) { s.interrupt(e.get()); });
}

IPYBOX_DECL void job::cancel() const {
    auto const session = core_->session();
    auto const e = core_->of_session();
    if (session && e) session->post([e](detail::session& s) { s.unwant(e.get()); });
}

namespace detail {

/// Bounds a wait for the end of a job: it is completed with false when its time is up, or its signal comes.
inline void limit(session_handle& session, std::shared_ptr<job_core> const& job, std::shared_ptr<job_wait> const& wait,
                  std::chrono::milliseconds bound) {
    auto const give_up = [of = std::weak_ptr(job), which = std::weak_ptr(wait)] {
        auto const waiting = which.lock();
        if (!waiting) return;
        if (auto const asked = of.lock()) asked->remove(waiting);
        waiting->complete(false);
    };
    auto const on_signal = [give_up, weak = session.weak_from_this(),
                            which = std::weak_ptr(wait)](asio::cancellation_type) {
        give_up();
        auto const open = weak.lock();
        auto const over = which.lock();
        if (open && over) open->post([over](detail::session& s) { s.forget({over}); });
    };
    if (auto slot = wait->slot(); slot.is_connected()) slot.assign(on_signal);
    // A session that is closed ends its jobs, and so all waits for them.
    session.post([wait, bound, give_up](detail::session& s) { s.limit(wait, bound, give_up); });
}

} // namespace detail

IPYBOX_DECL void job::start_wait(std::shared_ptr<detail::job_core> const& core, std::chrono::milliseconds bound,
                                 detail::completion<bool> done) {
    auto const wait = std::make_shared<detail::job_wait>(std::move(done));
    auto const session = core->session();
    if (session && core->add(wait))
        detail::limit(*session, core, wait, bound);
    else
        wait->complete(core->state() == detail::job_state::ended);
}

IPYBOX_DECL std::shared_ptr<detail::executor_lender const> job::lender_of(detail::job_core const& core) {
    auto session = core.session();
    return session ? std::move(session) : detail::session_handle::closed();
}

} // namespace ipybox
