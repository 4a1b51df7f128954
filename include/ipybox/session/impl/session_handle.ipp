#pragma once

#include <ipybox/async/blocking_wait.hpp>
#include <ipybox/async/post_work.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/forked_away.hpp>
#include <ipybox/session/execution.hpp>
#include <ipybox/session/session_handle.hpp>
#include <ipybox/session/session_parts.hpp>

#include <asio/system_executor.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <system_error>
#include <utility>

namespace ipybox::detail {

/// How long functions of the application that run may take to notice that their session ends.
inline constexpr std::chrono::milliseconds time_for_functions{1000};

/// Waits for the end of an application's context.
class session_handle::context_end final : public context_waiters::waiter {
  public:
    explicit context_end(std::weak_ptr<session_handle> handle) : handle_(std::move(handle)) {}

    void arrive() override {}
    void abandon() noexcept override {
        if (auto const handle = handle_.lock()) handle->context_ends();
    }

  private:
    std::weak_ptr<session_handle> handle_;
};

IPYBOX_DECL std::shared_ptr<session_handle> session_handle::make(serial_context where, session_parts parts) {
    auto const handle = make_shared_in_process<session_handle>();
    handle->executor_ = where.executor;
    handle->code_dir_ = parts.options.working_dir;
    handle->may_block_ = std::move(where.may_block);
    std::function<void()> leave;
    if (where.thread) {
        // Calls that are no requests of the session complete here, too, in front of the end of the thread.
        leave = [outstanding = handle->outstanding_, stop = where.thread->stopper()] {
            outstanding->end(error(errc::not_running, ""));
            stop();
        };
    }
    handle->thread_ = std::move(where.thread);
    handle->session_ = session::make(where.executor, handle, std::move(leave), std::move(parts));
    if (!handle->thread_) {
        handle->context_ = context_waiters::of(where.executor);
        handle->context_end_ = std::make_shared<context_end>(handle);
        handle->context_->add(handle->context_end_);
    }
    return handle;
}

IPYBOX_DECL std::shared_ptr<session_handle> const& session_handle::closed() {
    // Never destroyed: static objects may move executors, or call those that were moved from, until the end of the
    // program.
    static auto const& none = *new auto([] {
        auto handle = std::make_shared<session_handle>();
        handle->outstanding_->end(
            error(errc::not_running, "this executor was moved from: use the one that it was moved to"));
        return handle;
    }());
    return none;
}

IPYBOX_DECL bool session_handle::post(move_only_function<void(session&)> work) {
    std::scoped_lock const lock(mutex_);
    if (session_) post_work(executor_, [self = session_, work = std::move(work)]() mutable { work(*self); });
    return session_ != nullptr;
}

IPYBOX_DECL void session_handle::call(std::shared_ptr<pending_call> const& call, std::function<void(session&)> work) {
    if (!owner_.is_this()) return call->fail(forked_away());
    if (call->waits_its_turn() && blocking_wait::begins_here()) {
        if (auto const may = may_wait_for_turn(); !may) return call->fail(may.error());
    }
    if (!outstanding_->add(call)) return;
    // For want of memory one call fails, not the thread.
    auto const guarded = [call, work = std::move(work)](session& s) {
        if (call->has_completed()) return;
        try {
            work(s);
        } catch (...) { call->fail(error_of(std::current_exception())); }
    };
    if (!post(guarded)) call->fail(error(errc::not_running, ""));
}

IPYBOX_DECL void session_handle::aside(std::shared_ptr<pending_call> const& call, std::function<void()> work) {
    // An exception of an application's function is the outcome of the call.
    auto const guarded = [call, work = std::move(work)] {
        try {
            work();
        } catch (...) { call->fail(error_of(std::current_exception())); }
    };
    try {
        aside_.begin(guarded);
    } catch (...) { call->fail(error_of(std::current_exception())); }
}

IPYBOX_DECL void session_handle::close() {
    // A fork has neither the thread nor the processes, and must not end those of its parent.
    if (!owner_.is_this()) return;
    std::shared_ptr<session> body;
    std::unique_ptr<io_thread> thread;
    asio::any_io_executor executor;
    std::function<result<void>()> may_block;
    {
        std::scoped_lock const lock(mutex_);
        if (!session_) return;
        post_work(executor_, [self = session_] { self->close(); });
        body = std::move(session_);
        executor = std::move(executor_);
        may_block = std::move(may_block_);
        thread = std::move(thread_);
        closing_ = std::this_thread::get_id();
    }
    // A thread of its own brings everything to an end, in its order and within bounds. Nothing can be known of who runs
    // an application's context.
    bool const alone = !thread || thread->join();
    // Functions of the application may use what goes behind the executor.
    body->services().wait_for_functions(time_for_functions);
    if (alone) {
        body->end_from_outside();
        outstanding_->end(error(errc::not_running, ""));
    }
    if (context_) context_->remove(*context_end_);
    // Only then a context of its own goes, with everything that still waits in it.
    body.reset();
    executor = asio::any_io_executor();
    may_block = nullptr;
    {
        std::scoped_lock const lock(mutex_);
        closing_ = std::thread::id();
    }
    closed_.notify_all();
}

/// The application's context goes, under an executor that is open or that another thread is closing.
IPYBOX_DECL void session_handle::context_ends() noexcept {
    if (!owner_.is_this()) return;
    std::shared_ptr<session> body;
    asio::any_io_executor executor;
    std::function<result<void>()> may_block;
    {
        std::unique_lock lock(mutex_);
        // A session that another thread closes uses the context until that thread has destroyed it.
        closed_.wait(lock, [this] { return closing_ == std::thread::id() || closing_ == std::this_thread::get_id(); });
        if (!session_) return;
        body = std::move(session_);
        executor = std::move(executor_);
        may_block = std::move(may_block_);
    }
    body->end_from_outside();
    outstanding_->end(error(errc::not_running, ""));
}

IPYBOX_DECL void post_to(std::weak_ptr<session_handle> const& outside, std::function<void()> work) {
    if (auto const handle = outside.lock()) handle->post([work = std::move(work)](session&) { work(); });
}

IPYBOX_DECL std::vector<unprotected_file> session_handle::unprotected_files() const {
    std::function<std::vector<unprotected_file>()> look;
    {
        std::scoped_lock const lock(mutex_);
        if (session_) look = session_->unprotected_files();
    }
    return look ? look() : std::vector<unprotected_file>();
}

IPYBOX_DECL kernel_state session_handle::state() const {
    std::scoped_lock const lock(mutex_);
    return session_ ? session_->state() : kernel_state::stopped;
}

IPYBOX_DECL void session_handle::with_executor(borrower const& use) const {
    std::scoped_lock const lock(mutex_);
    if (session_)
        use(executor_);
    else
        use(asio::system_executor());
}

IPYBOX_DECL asio::any_io_executor session_handle::executor() const {
    asio::any_io_executor copy;
    with_executor([&copy](asio::any_io_executor const& executor) { copy = executor; });
    return copy;
}

IPYBOX_DECL result<void> session_handle::may_block() const {
    std::function<result<void>()> asked;
    {
        std::scoped_lock const lock(mutex_);
        asked = may_block_;
    }
    return asked ? asked() : result<void>(); // closed: it fails at once
}

IPYBOX_DECL result<void> session_handle::may_wait_for_turn() const {
    std::scoped_lock const lock(mutex_);
    return session_ ? session_->services().may_wait() : result<void>();
}

} // namespace ipybox::detail
