#pragma once

#include <ipybox/action/action_channel.hpp>
#include <ipybox/action/action_host.hpp>
#include <ipybox/async/context_bound_executor.hpp>
#include <ipybox/async/side_threads.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/steady_timer.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>

namespace ipybox::detail {

/**
 * \brief Takes what one kernel asks for, has it decided, has it done, and answers: docs/action-protocol.md.
 * \details Requests go on beside each other. An approved action is done exactly as it was shown. A kernel that floods
 * it, or does not read, is refused and then read no more: it takes a bounded amount of memory.
 * \par Thread safety Unsafe: to be used on its executor, which must not run two handlers at once.
 */
class action_router : public std::enable_shared_from_this<action_router> {
  public:
    action_router(asio::any_io_executor executor, os::unique_fd socket, std::weak_ptr<action_host> host);

    /// Serves the kernel until it closes its end or `close` is called.
    void start();

    /// Cancels the requests to servers that are under way, and waits for packages: the cell has ended, and whatever
    /// still waits for them outlives it.
    void end_calls();

    /// Cancels all that is under way. Programs end with the kernel.
    void close();

  private:
    /// A request that was not answered yet.
    struct pending {
        asio::cancellation_signal cancel;
        std::shared_ptr<running_program> program; ///< once it runs
        std::size_t size = 0;                     ///< of the request
        bool ends_with_cell = false;              ///< unless it has ended before
        bool cancelled = false;
        bool outlived_cell = false;

        bool is_reporting = false;                             ///< a report is being sent
        std::optional<mcp::call_options::progress> unreported; ///< the latest one since
    };

    /// While it lives, a program is being started; then another may be, however that went.
    struct start_turn {
        explicit start_turn(action_router& r) noexcept : router(r) {}
        start_turn(start_turn const&) = delete;
        start_turn& operator=(start_turn const&) = delete;
        ~start_turn() { router.end_start(); }
        action_router& router;
    };

    /// Why a request is not dealt with.
    using refusal = std::optional<malformed_action>;

    static asio::awaitable<void> serve(std::shared_ptr<action_router> self);
    asio::awaitable<action_request> parse(action_frame frame);
    refusal on(action_cancel const& wanted);
    refusal on(malformed_action malformed);
    template <class Wanted>
    refusal on(Wanted wanted);
    template <class Wanted>
    static asio::awaitable<action_frame> act(std::shared_ptr<action_router> self, Wanted wanted);
    static asio::awaitable<action_frame> act(std::shared_ptr<action_router> self, package_request wanted);
    asio::awaitable<action_frame> carry_out(action_host& host, approval_subject const& subject, tool_call const& wanted,
                                            decision const& made, action_outcome& how);
    asio::awaitable<action_frame> carry_out(action_host& host, approval_subject const& subject,
                                            server_inquiry const& wanted, decision const& made, action_outcome& how);
    asio::awaitable<action_frame> carry_out(action_host& host, approval_subject const& subject,
                                            program_run const& wanted, decision const& made, action_outcome& how);
    [[nodiscard]] action_frame failed_answer(action_id id, error const& why, action_outcome& how) const;
    asio::awaitable<action_frame> answer_aside(action_id id, mcp::call_result returned);
    asio::awaitable<result<std::shared_ptr<running_program>>> start(action_host& host, program_run const& wanted);
    asio::awaitable<bool> begin_start();
    void end_start();
    void end_program(std::shared_ptr<running_program> const& program);
    static asio::awaitable<void> stop(std::shared_ptr<running_program> program);
    static asio::awaitable<void> interrupt(std::shared_ptr<running_program> program);
    void answer(action_frame frame);
    [[nodiscard]] mcp::call_options options_of(tool_call const& wanted);
    void report(action_id id, mcp::call_options::progress reached);
    static asio::awaitable<void> send_reports(std::shared_ptr<action_router> self, action_id id,
                                              std::shared_ptr<pending> waiting);

    asio::any_io_executor executor_;
    /// The same, for servers that other executors have.
    std::shared_ptr<context_bound_executor const> session_executor_;
    action_channel channel_;
    std::weak_ptr<action_host> host_;
    std::map<action_id, std::shared_ptr<pending>> pending_;
    std::size_t unsent_ = 0;         ///< answers that the kernel has not taken
    std::size_t held_ = 0;           ///< bytes of all that is pending or unsent
    std::size_t starting_ = 0;       ///< programs whose descriptors are held
    asio::steady_timer start_ended_; ///< one waiter is woken by each program that is started
    side_threads aside_;             ///< large requests and results are read there
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/action/impl/action_router.ipp>
#endif
