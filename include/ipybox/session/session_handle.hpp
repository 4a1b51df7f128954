#pragma once

#include <ipybox/async/context_waiters.hpp>
#include <ipybox/async/executor_lender.hpp>
#include <ipybox/async/serial_context.hpp>
#include <ipybox/async/side_threads.hpp>
#include <ipybox/gate/audit_log.hpp>
#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/session/execution.hpp>
#include <ipybox/session/generated_place.hpp>
#include <ipybox/session/job_core.hpp>
#include <ipybox/session/pending_call.hpp>
#include <ipybox/session/session.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
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

    void start(completion<result<void>> done) { order(kernel_order::kind::start, std::move(done)); }
    void reset(completion<result<void>> done) { order(kernel_order::kind::reset, std::move(done)); }
    void stop(completion<result<void>> done) { order(kernel_order::kind::stop, std::move(done)); }
    void execute(std::shared_ptr<execution> const& e) {
        execute(e, e->done ? e->done.slot() : asio::cancellation_slot());
    }
    void cancel();
    void interrupt(completion<result<void>> done);

    /// One execution alone; nothing happens where it is over, or none.
    void cancel_execution(std::shared_ptr<execution> const& e);
    void interrupt_execution(std::shared_ptr<execution> const& e);

    /// A number for a job, from 1 on.
    [[nodiscard]] std::uint64_t next_job() noexcept { return ++jobs_; }

    /// Bounds a wait for the end of a job: it is completed with false when its time is up, or its signal comes.
    void limit(std::shared_ptr<job_core> const& job, std::shared_ptr<job_wait> const& wait,
               std::chrono::milliseconds bound);

    /// These waits need no bound any more.
    void forget(job_core::waits over);

    /// Asks the kernel for a value: an expression of value_request.hpp. \tparam T json_value, or void
    template <class T>
    void ask(std::string expression, completion<result<T>> done) {
        auto const slot = done.slot();
        auto const answered = std::make_shared<completion<result<T>>>(std::move(done));
        auto const pass_on = [answered](result<execution_result> came) {
            if (!came) return (*answered)(result<T>(failure(came)));
            if constexpr (std::is_void_v<T>)
                (*answered)(result<T>());
            else
                (*answered)(result<T>(std::move(came->value)));
        };
        auto const e = std::make_shared<execution>();
        e->value_expression = std::move(expression);
        e->of_value = true;
        e->done = completion<result<execution_result>>(called_in_place{pass_on});
        execute(e, slot);
    }

    /// Asks a server for its tools.
    void list_tools(std::string server, completion<result<std::vector<mcp::tool>>> done);

    /// Asks a server for its tools, and makes something of them on a thread of its own: that waits for the disk and for
    /// other programs.
    template <class T>
    void make_of_tools(std::string server, std::function<result<T>(std::vector<mcp::tool> const&)> make,
                       completion<result<T>> done) {
        auto const call = std::make_shared<pending_result<T>>(std::move(done));
        forget_on_signal(call);
        auto const on_tools = [weak = weak_from_this(), call, make](result<std::vector<mcp::tool>> tools) {
            auto const self = weak.lock();
            if (!self || !tools) return call->fail(self ? tools.error() : error(errc::not_running, ""));
            auto const listed = std::make_shared<std::vector<mcp::tool>>(std::move(*tools));
            self->aside(call, [call, make, listed] { call->complete(make(*listed)); });
        };
        auto const listing = std::make_shared<pending_result<std::vector<mcp::tool>>>(
            completion<result<std::vector<mcp::tool>>>(called_in_place{on_tools}));
        begin(call, [listing, server = std::move(server)](session& s) { s.list_tools(server, listing); });
    }

    /// Has the gate decide about an action of the application's own; completes with its id where it is accepted.
    void approve(approval_subject subject, completion<result<std::uint64_t>> done);

    /// Records how such an action has ended.
    void record(std::uint64_t id, action_outcome how);

    /// Installs packages where the kernel imports from; the words are those behind `pip install`.
    void install(std::vector<std::string> words, completion<result<installation>> done);

    /// Calls `use` with the gate, whose grants it may use, within this call; false when there is none any more. A lock
    /// is held: grants run nothing of the application's.
    template <class Use>
    bool with_gate(Use use) {
        std::scoped_lock const lock(mutex_);
        if (session_) use(session_->gate());
        return session_ != nullptr;
    }

    /// Calls `use` with the MCP servers, within this call; false when there are none any more.
    template <class Use>
    bool with_servers(Use use) {
        auto const registry = servers();
        if (registry) use(*registry);
        return registry != nullptr;
    }

    /// The host tools; none when it is closed. They may be asked after that, and refuse.
    [[nodiscard]] std::shared_ptr<tool_packages> tools() const {
        std::scoped_lock const lock(mutex_);
        return session_ ? session_->tools() : nullptr;
    }

    /// The MCP servers; none when it is closed. They may be used after that, and behind the end of their context.
    [[nodiscard]] std::shared_ptr<mcp::server_registry> servers() const {
        std::scoped_lock const lock(mutex_);
        return session_ ? session_->servers() : nullptr;
    }

    /// Remembers where a package was generated: tools may change.
    void remember_place(std::string const& package, generated_place place);

    /// The place of a generated package.
    [[nodiscard]] std::vector<generated_place> places_of(std::string const& package) const;

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
    template <class Work>
    bool post(Work work) {
        std::scoped_lock const lock(mutex_);
        if (session_) asio::post(executor_, [self = session_, work = std::move(work)]() mutable { work(*self); });
        return session_ != nullptr;
    }

  private:
    class context_end;

    void execute(std::shared_ptr<execution> const& e, asio::cancellation_slot slot);
    void order(kernel_order::kind what, completion<result<void>> done);
    void forget_on_signal(std::shared_ptr<pending_call> const& call, asio::cancellation_slot slot);
    template <class T>
    void forget_on_signal(std::shared_ptr<pending_result<T>> const& call) {
        forget_on_signal(call, call->slot());
    }
    void aside(std::shared_ptr<pending_call> const& call, std::function<void()> work);
    void begin(std::shared_ptr<pending_call> const& call, std::function<void(session&)> work);
    template <class T>
    std::function<void()> forgetting(std::shared_ptr<T> const& asked);
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
    std::map<std::string, std::vector<generated_place>> generated_; ///< packages of host tools
    std::atomic<std::uint64_t> jobs_ = 0;
    side_threads aside_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/session_handle.ipp>
#endif
