#pragma once

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/async/completion.hpp>
#include <ipybox/async/mailbox.hpp>
#include <ipybox/execution/execute_options.hpp>
#include <ipybox/execution/execution_result.hpp>
#include <ipybox/kernel/kernel_host.hpp>
#include <ipybox/session/event_queue.hpp>
#include <ipybox/session/kernel_link.hpp>
#include <ipybox/session/kernel_state.hpp>
#include <ipybox/session/late_output.hpp>
#include <ipybox/session/output_places.hpp>
#include <ipybox/session/pending_call.hpp>
#include <ipybox/session/seen_messages.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ipybox::mcp {

class server_registry;
struct tool;

} // namespace ipybox::mcp

namespace ipybox::detail {

class kernel_actions;
class session;
class session_handle;

/// One execution that was submitted. Its outcome goes to `done`, or as the last event to `events`.
struct execution final : pending_call {
    std::string code;
    execute_options options;
    completion<result<execution_result>> done;
    std::shared_ptr<event_queue> events;
    chunk_events chunks = chunk_events::on;
    bool finishes = false; ///< without code: ends the kernel

    struct ending {
        errc reason;
        bool at_once = false; ///< without waiting for the code: its kernel goes too
    };
    std::optional<ending> unwanted; ///< it is to end

    void settle(result<execution_result> outcome) {
        if (!first()) return;
        if (events)
            events->finish(std::move(outcome));
        else
            done(std::move(outcome));
    }
    void fail(error why) override { settle(failure(std::move(why))); }
};

/// Whether a kernel has the state of earlier executions.
enum class kernel_freshness { kept, fresh };

/// What a session is made of, besides where it runs.
struct session_parts {
    executor_options options;
    any_approval approval;
    launch_wrapper wrap;                ///< of the sandbox, for a supervisor of its own
    std::shared_ptr<supervisor> shared; ///< another owner's supervisor, or none
    std::unique_ptr<kernel_link> link;
};

/// Runs work on a session's executor; nothing happens where it has ended. From any thread.
void post_to(std::weak_ptr<session_handle> const& outside, std::function<void(session&)> work);

/**
 * \brief One kernel and the queue of what is asked of it: the body of every executor.
 * \details A single coroutine, `serve`, takes the requests in order; another one, `receive`, takes the kernel's messages. It lives in its I/O context,
 * destroyed with that at the latest; everything outside has a `session_handle`.
 * \par Thread safety Unsafe: belongs to its executor, which must not run two handlers at once. `state`, `servers` and `end_from_outside` are safe.
 */
class session : public std::enable_shared_from_this<session> {
  public:
    enum class order { start, reset, stop };
    struct control final : pending_result<void> {
        control(order w, completion<result<void>> done) : pending_result<void>(std::move(done)), what(w) {}
        order const what;
        bool unwanted = false; ///< its caller does not wait for it any more
    };
    using request = std::variant<std::shared_ptr<execution>, std::shared_ptr<control>>;

    /// `leave` ends the thread that the session has for itself, if it has one: called when all is over.
    session(asio::any_io_executor executor, std::weak_ptr<session_handle> outside, std::function<void()> leave,
            session_parts parts);

    void submit(request r);
    void interrupt(std::shared_ptr<pending_result<void>> call);
    void list_tools(std::string server, std::shared_ptr<pending_result<std::vector<mcp::tool>>> call);
    void give(grant what);

    void unwant(execution const* which, execution::ending how = {errc::cancelled});
    void unwant(control const* which);
    void unwant_all(execution::ending how);
    void resume_receiving();

    /// Ends everything, and then `leave`s: the last call.
    void close();

    /// Ends the processes and decides what is undecided, whether the executor runs or not.
    void end_from_outside();

    [[nodiscard]] mcp::server_registry& servers() noexcept;
    [[nodiscard]] kernel_state state() const noexcept { return state_; }

  private:
    // What can happen to a running execution.
    struct kernel_ended {
        error why;
    };
    struct input_answered {
        unsigned question;                 ///< which one, as counted by the session
        std::unique_ptr<std::string> line; ///< none: refused
        jupyter::json request_header;
    };
    struct link_called {
        unsigned serial; ///< of the execution that called
        result<void> outcome;
        bool answered = false; ///< it was an answer to `input()`
    };
    struct approvals_waiting {
        std::size_t count; ///< requests that nobody has decided yet
    };
    struct nudge {}; ///< look at the execution's `unwanted`
    using occurrence =
        std::variant<jupyter::message, kernel_ended, input_answered, link_called, approvals_waiting, nudge>;

    class running;

    static asio::awaitable<void> serve(std::shared_ptr<session> self);
    void on_served(std::exception_ptr bug);
    asio::awaitable<void> obey(std::shared_ptr<control> c);
    asio::awaitable<result<void>> done_as_told(control const& c);
    asio::awaitable<void> run(std::shared_ptr<execution> e);
    asio::awaitable<result<execution_result>> perform(std::shared_ptr<execution> e);
    asio::awaitable<result<kernel_freshness>> ensure_kernel();
    asio::awaitable<result<void>> start_kernel();
    asio::awaitable<result<void>> start_link();
    asio::awaitable<result<void>> start_under_supervisor();
    [[nodiscard]] bool start_unwanted() const noexcept;
    void abandon_start();
    asio::awaitable<void> stop_kernel();
    static asio::awaitable<result<void>> ask_to_end(std::shared_ptr<kernel_link> link);
    asio::awaitable<void> let_kernel_end();
    asio::awaitable<void> receiving_ends(std::chrono::steady_clock::time_point bound);
    asio::awaitable<bool> replace_kernel();
    asio::awaitable<void> end_kernel();
    static asio::awaitable<void> receive(std::shared_ptr<session> self, unsigned life);
    void on_received(unsigned life, std::exception_ptr bug);
    void on_end(error why);
    void pause_receiving();
    void keep_for_later(jupyter::message m);

    void ensure_served();
    template <class Predicate>
    void end_waiting(Predicate wanted, errc reason);
    [[nodiscard]] supervisor_options own_supervisor() const;
    [[nodiscard]] kernel_launch launch() const;
    [[nodiscard]] result<kernel_launch> launch_with_actions();

    asio::any_io_executor const executor_;
    std::weak_ptr<session_handle> const outside_;
    std::function<void()> const leave_;
    std::shared_ptr<output_places> const places_; ///< opened before there is a kernel
    executor_options const options_;
    launch_wrapper const wrap_;
    // Processes are let go of before the host that they live in.
    kernel_host host_;
    std::shared_ptr<kernel_link> const link_;
    std::shared_ptr<seen_messages> const seen_;
    std::shared_ptr<kernel_actions> const actions_;

    std::atomic<kernel_state> state_ = kernel_state::stopped;
    bool stopped_by_request_ = false;
    std::optional<error> death_; ///< why the kernel is dead
    bool deserted_ = false;      ///< the kernel runs code whose execution has ended
    bool closing_ = false;
    bool closed_ = false; ///< what ends the executor has been begun
    bool serving_ = false;
    bool awaits_kernel_ = false; ///< the current execution, which has not begun
    bool starting_ = false;
    bool start_abandoned_ = false;

    std::deque<request> requests_;
    std::shared_ptr<execution> current_;
    std::shared_ptr<control> obeyed_; ///< the one under way
    mailbox<occurrence> inbox_;       ///< of the current execution
    unsigned serial_ = 0;             ///< counts executions
    unsigned questions_ = 0;          ///< counts what executions asked for
    late_output late_;                ///< what came between two executions: begins the next one's output

    unsigned life_ = 0; ///< counts kernels: what a former one's `receive` finds out is not about the present one
    bool receiving_ = false;
    bool receiving_paused_ = false;
    asio::steady_timer receiving_changed_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/session.ipp>
#endif
