#pragma once

#include <ipybox/session/execution.hpp>
#include <ipybox/session/job_core.hpp>
#include <ipybox/session/kernel_manager.hpp>
#include <ipybox/session/request_queue.hpp>

#include <asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ipybox::detail {

struct run_context;
class session_handle;
struct session_parts;
class session_services;
class session_settings;

/// Runs work on a session's executor; nothing happens where it has ended. From any thread.
void post_to(std::weak_ptr<session_handle> const& outside, std::function<void()> work);

/**
 * \brief One kernel and the queue of what is asked of it: the body of every executor.
 * \details A single coroutine, `serve`, takes the requests in order; the kernel is a `kernel_manager`'s. It lives in
 * its I/O context, destroyed with that at the latest; everything outside has a `session_handle`.
 * \par Thread safety Unsafe: belongs to its executor, which must not run two handlers at once. `state`, `executor`,
 * `services`, `unprotected_files` and `end_from_outside` are safe.
 */
class session final : public kernel_manager::observer, public std::enable_shared_from_this<session> {
  public:
    /// `leave` ends the thread that the session has for itself, if it has one: called when all is over.
    [[nodiscard]] static std::shared_ptr<session> make(asio::any_io_executor executor,
                                                       std::weak_ptr<session_handle> const& outside,
                                                       std::function<void()> leave, session_parts parts);

    session(asio::any_io_executor executor, std::weak_ptr<session_handle> const& outside, std::function<void()> leave,
            session_parts parts);

    void submit(std::shared_ptr<execution> e);
    void submit(std::shared_ptr<kernel_order> order);
    void interrupt(std::shared_ptr<pending_result<void>> call);

    /// Starts the kernel if there is none, and calls `then` beside the executions that come later.
    void when_started(std::function<void(result<void>)> then);

    /// Raises KeyboardInterrupt in an execution, if the kernel runs it.
    void interrupt(execution const* which);

    /// Calls `give_up` when a wait for the end of a job has taken so long, unless that is forgotten before.
    void limit(std::shared_ptr<job_wait> const& wait, std::chrono::milliseconds bound, std::function<void()> give_up);
    /// These waits need no bound any more.
    void forget(job_core::waits const& over);

    void unwant(execution const* which, execution::ending how = {errc::cancelled});
    void unwant(kernel_order const* which);
    void unwant_all(execution::ending how);
    void resume_listening() { kernel_->resume(); }

    /// Ends everything, and then `leave`s: the last call.
    void close();

    /// Ends the processes and decides what is undecided, whether the executor runs or not.
    void end_from_outside() { kernel_->end_from_outside(); }

    [[nodiscard]] asio::any_io_executor const& executor() const noexcept { return executor_; }
    [[nodiscard]] session_services& services() const noexcept { return *kernel_->services(); }

    [[nodiscard]] std::function<std::vector<ipybox::detail::unprotected_file>()> unprotected_files() const {
        return kernel_->unprotected_files();
    }
    [[nodiscard]] ipybox::detail::kernel_state state() const noexcept { return kernel_->life().seen_from_outside(); }

  private:
    void overtake();
    void ensure_served();
    static asio::awaitable<void> serve(std::shared_ptr<session> self);
    void on_served(std::exception_ptr bug);
    asio::awaitable<void> obey(std::shared_ptr<kernel_order> order);
    asio::awaitable<result<void>> done_as_told(kernel_order const& order);
    asio::awaitable<void> run(std::shared_ptr<execution> e);
    asio::awaitable<result<execution_result>> perform(std::shared_ptr<execution> e);
    asio::awaitable<void> end_all();

    void keep_for_later(jupyter::message m);
    void on_message(jupyter::message m) override;
    void on_death(error const& why) override;
    void on_gone() override;

    asio::any_io_executor const executor_;
    std::function<void()> const leave_;
    std::shared_ptr<session_settings const> const settings_;
    std::shared_ptr<kernel_manager> const kernel_;
    std::shared_ptr<run_context> const context_; ///< of the executions

    request_queue requests_;
    bool serving_ = false;
    bool closing_ = false;

    bool fresh_untold_ = false; ///< the kernel is a fresh one, and no result has said so
    std::map<std::shared_ptr<job_wait>, asio::steady_timer> limits_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/session.ipp>
#endif
