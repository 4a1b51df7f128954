#pragma once

#include <ipybox/tools/host_call.hpp>

namespace ipybox::detail {

IPYBOX_DECL host_call::~host_call() {
    try {
        settle(failure(errc::not_running, "the application has dropped the call without an answer"));
    } catch (...) {} // NOLINT(bugprone-empty-catch): the completion is dropped then
}

IPYBOX_DECL bool host_call::is_settled() const {
    std::scoped_lock const lock(mutex_);
    return settled_;
}

IPYBOX_DECL bool host_call::settle(outcome value) {
    completion<outcome> done;
    std::function<void()> unneeded;
    {
        std::scoped_lock const lock(mutex_);
        if (std::exchange(settled_, true)) return false;
        done = std::move(done_);
        if (!cancelled_) unneeded = std::exchange(on_cancel_, nullptr);
    }
    if (done) done(std::move(value));
    return true;
}

IPYBOX_DECL void host_call::cancel(error why) {
    std::function<void()> tell;
    {
        std::scoped_lock const lock(mutex_);
        if (settled_ || std::exchange(cancelled_, true)) return;
        tell = std::exchange(on_cancel_, nullptr);
    }
    settle(failure(std::move(why)));
    stop_.request_stop();
    if (tell) tell();
}

IPYBOX_DECL void host_call::on_cancel(std::function<void()> call) {
    {
        std::scoped_lock const lock(mutex_);
        if (!settled_) {
            std::swap(on_cancel_, call);
            return;
        }
        if (!cancelled_) return;
    }
    call();
}

IPYBOX_DECL void host_call::report(mcp::call_options::progress reached) {
    if (!on_progress_) return;
    {
        std::scoped_lock const lock(mutex_);
        if (settled_) return;
        bool const on_its_way = unreported_.has_value();
        unreported_ = std::move(reached);
        if (on_its_way) return;
    }
    // Kept until then: the last report is told before the answer.
    session_executor_->post([self = shared_from_this()] { self->tell_progress(); });
}

IPYBOX_DECL void host_call::tell_progress() {
    std::optional<mcp::call_options::progress> reached;
    {
        std::scoped_lock const lock(mutex_);
        reached = std::exchange(unreported_, std::nullopt);
    }
    if (!reached) return;
    try {
        on_progress_(*reached);
    } catch (...) {} // NOLINT(bugprone-empty-catch): what it throws is dropped, as a server's reports are
}

} // namespace ipybox::detail
