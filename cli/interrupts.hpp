#pragma once

#include <ipybox/executor_base.hpp>

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <cli/exit_code.hpp>
#include <cli/orphans.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

namespace ipybox::cli {

/**
 * \brief What signals do to a run: Ctrl-C interrupts the cell, everything else ends the run.
 * \details A second Ctrl-C in the same cell, one while no cell runs, SIGTERM and SIGHUP stop what runs, so that its
 * operations return. Signals are handled on a thread of this object, which outlives that: they work while the others
 * wait. Signals that were ignored when the program started stay ignored.
 */
class interrupts {
  public:
    /// \param left_behind what is ended too where the program does not wait for what runs
    explicit interrupts(orphans const& left_behind);
    interrupts(interrupts const&) = delete;
    interrupts& operator=(interrupts const&) = delete;
    ~interrupts();

    /// What signals act on, as long as this lives.
    class target {
      public:
        target(interrupts& signals, executor_base& box);
        /// Nothing that could be interrupted, and go on. Stopped at once where a signal came before.
        target(interrupts& signals, std::stop_source stop);
        target(target const&) = delete;
        target& operator=(target const&) = delete;
        ~target() { signals_.act_on({}); }

      private:
        interrupts& signals_;
    };

    /// Starts the kernel; nothing when a signal has ended the run meanwhile.
    [[nodiscard]] std::optional<result<void>> start(executor_base& box);

    void cell_begins() noexcept;
    void cell_ends() noexcept;

    /// Ctrl-C was pressed in the current or last cell.
    [[nodiscard]] bool interrupted() const noexcept { return presses_ > 0; }

    /// Set once a signal has ended the run: how the program ends.
    [[nodiscard]] std::optional<exit_code> ending() const noexcept;

  private:
    class first_outcome;

    /// How a signal interrupts a run, and how it stops one. Neither function throws.
    struct actions {
        std::function<void()> interrupt = [] {};
        std::function<void()> stop = [] {};
    };

    void act_on(actions taken);
    void add(int number);
    void listen();
    void handle(int number);
    void end(exit_code code);
    [[noreturn]] void leave(exit_code code) const;

    orphans const& left_behind_;
    asio::io_context io_{1};
    asio::signal_set signals_{io_};
    asio::steady_timer last_resort_{io_};
    std::mutex mutex_;
    actions actions_;
    std::shared_ptr<first_outcome> started_;
    std::atomic<bool> in_cell_ = false;
    std::atomic<int> presses_ = 0;
    std::atomic<exit_code> ending_ = exit_code::ok;
    std::thread thread_;
};

} // namespace ipybox::cli
