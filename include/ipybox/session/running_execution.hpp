#pragma once

#include <ipybox/core/time_budget.hpp>
#include <ipybox/session/execute_machine.hpp>
#include <ipybox/session/execution_end.hpp>
#include <ipybox/session/execution_output.hpp>
#include <ipybox/session/input_answers.hpp>
#include <ipybox/session/kernel_manager.hpp>
#include <ipybox/session/large_output.hpp>
#include <ipybox/session/link_calls.hpp>
#include <ipybox/session/run_context.hpp>
#include <ipybox/session/stop_ladder.hpp>
#include <ipybox/session/watched_run.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace ipybox::detail {

struct execution;

/**
 * \brief One execution while the kernel has it: tells the machines what happens and does what they say.
 * \par Thread safety Unsafe: belongs to the session's executor.
 */
class running_execution {
  public:
    /// `e` outlives this.
    running_execution(std::shared_ptr<run_context> context, execution& e, kernel_freshness freshness);
    running_execution(running_execution const&) = delete;
    running_execution& operator=(running_execution const&) = delete;
    ~running_execution();

    /// To the end, which it brings about where that is due.
    asio::awaitable<result<execution_result>> run();

  private:
    using clock = time_budget::clock;

    [[nodiscard]] bool abandoned() const noexcept;
    [[nodiscard]] bool ended() const noexcept;
    [[nodiscard]] clock::time_point deadline() const noexcept;
    [[nodiscard]] stop_ladder::step on_time();
    asio::awaitable<void> let_others_run();
    asio::awaitable<void> take_next();
    void take(occurrence::any& item);
    [[nodiscard]] bool takes_turns() noexcept;

    // --- what is asked of the kernel ---
    void begin();
    void begin_cell();
    void number(jupyter::message& request);
    void ask_to_end();
    void end_code();
    asio::awaitable<void> end_kernel(stop_ladder::step last);

    // --- what happens ---
    void on(occurrence::link_called& c);
    void on(occurrence::kernel_ended& k) { end_.death = std::move(k.why); }
    void on(occurrence::nudge const&) {}
    void on(occurrence::interrupt_wanted const&);
    void on(occurrence::approvals_waiting const& a);
    void on(occurrence::input_answered& a);
    void on(jupyter::message& m);
    void answered();

    // --- the meaning of a message ---
    void follow(nothing_new) {}
    void follow(output_chunk chunk);
    void follow(display shown);
    void follow(clear_wanted clear) { output_.clear(clear.wait); }
    void follow(input_wanted wanted);
    void follow(code_told) { ladder_.told(clock::now()); }
    void follow(code_ended) { ladder_.code_ended(clock::now()); }
    void follow(execution_over over);

    [[nodiscard]] result<execution_result> outcome();

    std::shared_ptr<run_context> const context_;
    kernel_manager& kernel_;
    execution& execution_;
    kernel_lifecycle::generation const generation_;
    clock::time_point const started_;
    std::string const request_id_;
    link_calls calls_;
    execution_output output_;
    execute_machine machine_;
    stop_ladder ladder_;
    kernel_freshness freshness_;
    watched_run watched_;
    execution_end end_;
    clock::time_point leave_by_ = clock::time_point::max();
    input_answers answers_;
    bool deciding_ = false;              ///< an approval is waited for
    std::deque<occurrence::any> behind_; ///< events of the kernel that came while a display is saved
    std::size_t in_turn_ = 0;            ///< bytes of messages since other handlers ran
    large_output large_;                 ///< the last member: its threads use `output_`
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/running_execution.ipp>
#endif
