#pragma once

#include <ipybox/async/context_waiters.hpp>
#include <ipybox/async/executor_lender.hpp>
#include <ipybox/async/serial_context.hpp>
#include <ipybox/async/side_threads.hpp>
#include <ipybox/core/move_only_function.hpp>
#include <ipybox/session/execution.hpp>
#include <ipybox/session/job_core.hpp>
#include <ipybox/session/pending_call.hpp>
#include <ipybox/session/session.hpp>
#include <ipybox/session/session_services.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace ipybox::detail {

struct session_parts;

/**
 * \brief How everything outside holds a session: executors, operations that have not begun, signals, streams, answers.
 * \details The session itself lives in its I/O context and never outlives it. Behind the handle there is none once it
 * was closed, or once that context has gone; calls then fail with errc::not_running.
 * \par Thread safety Safe.
 */
class session_handle final : public executor_lender, public std::enable_shared_from_this<session_handle> {
  public:
    [[nodiscard]] static std::shared_ptr<session_handle> make(serial_context where, session_parts parts);

    /// One that was never open, for executors that were moved from.
    [[nodiscard]] static std::shared_ptr<session_handle> const& closed();

    session_handle() = default;
    session_handle(session_handle const&) = delete;
    session_handle& operator=(session_handle const&) = delete;
    ~session_handle() = default;

    /// Has the session do something in its turn; it is not asked for any more when the slot's signal comes. \tparam
    /// Request execution, or kernel_order
    template <class Request>
    void submit(std::shared_ptr<Request> const& request, asio::cancellation_slot slot = {}) {
        // Never cleared: a signal that comes too late finds nothing. Clearing the slot from the session would race with
        // the signal's own thread.
        if (slot.is_connected()) slot.assign([forget = forgetting(request)](asio::cancellation_type) { forget(); });
        call(request, [request](session& s) { s.submit(request); });
    }

    /// Has the session forget a request, from any thread. It does not keep that alive.
    template <class Request>
    std::function<void()> forgetting(std::shared_ptr<Request> const& request) {
        return [weak = weak_from_this(), which = std::weak_ptr<Request>(request)] {
            auto const self = weak.lock();
            auto const unwanted = which.lock();
            if (self && unwanted) self->post([unwanted](session& s) { s.unwant(unwanted.get()); });
        };
    }

    /// Has the session work for a call, or fails it.
    void call(std::shared_ptr<pending_call> const& call, std::function<void(session&)> work);

    /// Work on a session that completes the call.
    template <class T>
    using work_for = std::function<void(session&, std::shared_ptr<pending_result<T>> const&)>;

    /// The same for a call that is only waited for: its signal ends the waiting, and abandons the call.
    template <class T>
    void ask(completion<result<T>> done, std::type_identity_t<work_for<T>> work,
             pending_call::served when = pending_call::served::at_once) {
        auto const asked = std::make_shared<pending_result<T>>(std::move(done), when);
        if (auto slot = asked->slot(); slot.is_connected()) {
            slot.assign([weak = weak_from_this(), which = std::weak_ptr(asked)](asio::cancellation_type) {
                auto const waiting = which.lock();
                if (!waiting) return;
                waiting->fail(error(errc::cancelled, ""));
                if (auto const self = weak.lock()) self->post([waiting](session&) { waiting->abandon(); });
            });
        }
        call(asked, [asked, work = std::move(work)](session& s) { work(s, asked); });
    }

    /// A number for a job, from 1 on.
    [[nodiscard]] std::uint64_t next_job() noexcept { return ++jobs_; }

    /// Does the work of a call on a thread of its own, for whose end the handle waits.
    void aside(std::shared_ptr<pending_call> const& call, std::function<void()> work);

    /// Calls `use` with a service, within this call; false when there is none any more. A lock is held: nothing of the
    /// application's may run.
    template <class Service, class Use>
    bool with(Use use) const {
        std::scoped_lock const lock(mutex_);
        if (session_) use(*session_->services().template get<Service>());
        return session_ != nullptr;
    }

    /// The files that code in the kernel can change and must not; nothing when it is closed.
    [[nodiscard]] std::vector<unprotected_file> unprotected_files() const;

    /// The working directory, absolute: code may write there. Empty when it was made closed.
    [[nodiscard]] std::filesystem::path const& code_dir() const noexcept { return code_dir_; }

    /**
     * \brief Ends everything: every call that is outstanding has completed, or does so by itself.
     * \details A thread of its own has ended on return, unless that is the caller or waits for it. On an application's
     * context the processes have ended, whether it is run or not; what is left there ends with it.
     */
    void close();

    [[nodiscard]] kernel_state state() const;

    /// The executor on which the session works; the system's executor when it is closed.
    void with_executor(borrower const& use) const override;

    /// A copy of it for the application, whose matter it is then that the context stays.
    [[nodiscard]] asio::any_io_executor executor() const;

    /// Whether a call that blocks the calling thread would be served; the error says why not. May take its time.
    [[nodiscard]] result<void> may_block() const;

    /// Whether the calling thread may wait for a call that waits its turn: a function that the running code has called
    /// would wait for that code.
    [[nodiscard]] result<void> may_wait_for_turn() const;

    /// Runs work on the session's executor, behind what was handed over before; false when it is closed.
    bool post(move_only_function<void(session&)> work);

  private:
    class context_end;

    void context_ends() noexcept;

    std::shared_ptr<outstanding_calls> const outstanding_ = std::make_shared<outstanding_calls>();
    mutable std::mutex mutex_;
    std::shared_ptr<session> session_; ///< none: closed
    asio::any_io_executor executor_;
    std::function<result<void>()> may_block_;
    std::filesystem::path code_dir_;
    owning_process owner_;
    std::unique_ptr<io_thread> thread_;
    std::shared_ptr<context_waiters> context_; ///< of an application
    std::shared_ptr<context_waiters::waiter> context_end_;
    std::condition_variable closed_;
    std::thread::id closing_; ///< the thread that closes; none before that, and behind it
    std::atomic<std::uint64_t> jobs_ = 0;
    side_threads aside_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/session_handle.ipp>
#endif
