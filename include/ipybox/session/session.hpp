#pragma once

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/async/completion.hpp>
#include <ipybox/async/home.hpp>
#include <ipybox/async/mailbox.hpp>
#include <ipybox/execution/execute_options.hpp>
#include <ipybox/execution/execution_result.hpp>
#include <ipybox/session/event_queue.hpp>
#include <ipybox/session/kernel_link.hpp>
#include <ipybox/session/kernel_state.hpp>
#include <ipybox/session/late_output.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>

namespace ipybox::mcp {

class server_registry;
struct tool;

} // namespace ipybox::mcp

namespace ipybox::detail {

class kernel_actions;

/// One execution that was submitted. Its outcome goes to `done`, or as the last event to `events`.
struct execution {
    std::string code;
    execute_options options;
    completion<result<execution_result>> done;
    std::shared_ptr<event_queue> events;
    chunk_events chunks = chunk_events::on;

    struct ending {
        errc reason;
        bool at_once = false; ///< without waiting for the code: its kernel goes too
    };
    std::optional<ending> unwanted; ///< it is to end
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

/**
 * \brief One kernel and the queue of what is asked of it: the body of every executor.
 * \details A single coroutine, `serve`, takes the requests in order; another one, `receive`, takes the kernel's messages. Public members may be called
 * from any thread.
 */
class session : public std::enable_shared_from_this<session> {
  public:
    session(home where, session_parts parts);

    void start(completion<result<void>> done);
    void execute(std::shared_ptr<execution> e);
    void cancel();
    void interrupt(completion<result<void>> done);
    void reset(completion<result<void>> done);
    void stop(completion<result<void>> done);

    /// The MCP servers of this executor. From any thread.
    [[nodiscard]] mcp::server_registry& servers() noexcept;

    /// Asks a server for its tools.
    void list_tools(std::string server, completion<result<std::vector<mcp::tool>>> done);

    /// Grants something for as long as the session lives, or as the grant says.
    void give(grant what);

    /// Ends everything: the last call. Where the session has a thread of its own, it has ended on return, unless that is the caller.
    void close();

    [[nodiscard]] kernel_state state() const noexcept { return state_; }
    [[nodiscard]] home const& where() const noexcept { return home_; }

  private:
    enum class order { start, reset, stop };
    struct control {
        order what;
        completion<result<void>> done;
        bool unwanted = false; ///< its caller does not wait for it any more
    };
    using request = std::variant<std::shared_ptr<execution>, std::shared_ptr<control>>;

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
    };
    struct approvals_waiting {
        std::size_t count; ///< requests that nobody has decided yet
    };
    struct nudge {}; ///< look at the execution's `unwanted`
    using occurrence =
        std::variant<jupyter::message, kernel_ended, input_answered, link_called, approvals_waiting, nudge>;

    class running;

    template <class Work>
    void on_home(Work work);

    static asio::awaitable<void> serve(std::shared_ptr<session> self);
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
    asio::awaitable<bool> replace_kernel();
    asio::awaitable<void> end_kernel();
    static asio::awaitable<void> receive(std::shared_ptr<session> self);
    void on_end(error why);
    void pause_receiving();
    void resume_receiving();

    void submit(request r);
    void submit(order what, completion<result<void>> done);
    void ensure_served();
    template <class T>
    std::function<void()> forgetting(std::shared_ptr<T> const& asked);
    template <class Predicate>
    void end_waiting(Predicate wanted, errc reason);
    void unwant(execution const* which, execution::ending how = {errc::cancelled});
    void unwant(control const* which);
    void unwant_all(execution::ending how);
    void deliver(execution& e, result<execution_result> outcome);
    asio::awaitable<result<std::shared_ptr<supervisor>>> obtain_supervisor();
    asio::awaitable<result<std::filesystem::path>> look_for_python();
    void release_supervisor();
    [[nodiscard]] kernel_launch launch() const;
    [[nodiscard]] result<kernel_launch> launch_with_actions();

    home home_;
    executor_options const options_;
    launch_wrapper const wrap_;
    bool const shares_supervisor_;
    std::shared_ptr<kernel_link> const link_;
    std::shared_ptr<kernel_actions> const actions_;

    std::mutex supervisor_mutex_; ///< `close` ends these from another thread
    std::shared_ptr<supervisor> supervisor_;
    std::jthread search_; ///< for the interpreter
    bool closed_ = false;

    std::atomic<kernel_state> state_ = kernel_state::stopped;
    bool stopped_by_request_ = false;
    std::optional<error> death_; ///< why the kernel is dead
    bool closing_ = false;
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

    bool receiving_ = false;
    bool receiving_paused_ = false;
    asio::steady_timer receiving_changed_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/session.ipp>
#endif
