#pragma once

#include <ipybox/kernel/supervisor.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/error_code.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace ipybox::detail {

/**
 * \brief While there is one, a kernel runs code: after a moment, what it takes is looked at.
 * \details Most code ends within that moment. Processes that it has left at work are looked at all the same: at its
 * end, but not more often than once in such a moment, so that many short cells cost no more than a long one.
 * \par Thread safety Unsafe: belongs to its executor.
 */
class watched_run {
  public:
    using clock = std::chrono::steady_clock;

    static constexpr std::chrono::milliseconds unwatched{100};

    /// \param latest when code of this kernel was looked at, at its end; outlives this
    watched_run(asio::any_io_executor const& executor, supervised_process kernel, clock::time_point& latest)
        : timer_(executor), latest_(latest), shared_(std::make_shared<shared>(std::move(kernel))) {
        if (!shared_->kernel) return;
        timer_.expires_after(unwatched);
        timer_.async_wait([run = shared_](asio::error_code cancelled) {
            if (!cancelled) run->watch();
        });
    }
    watched_run(watched_run const&) = delete;
    watched_run& operator=(watched_run const&) = delete;
    ~watched_run() { shared_->end(); }

    /// The code has ended by itself; the kernel lives on.
    void code_ended() {
        auto const now = clock::now();
        if (!shared_->watched && now - latest_ >= unwatched) shared_->watch();
        if (shared_->watched) latest_ = now;
    }

  private:
    /// The outcomes of the timer after the end of the run.
    struct shared {
        explicit shared(supervised_process process) : kernel(std::move(process)) {}

        void watch() {
            if (!kernel) return;
            kernel.watch(true);
            watched = true;
        }

        void end() {
            if (watched) kernel.watch(false);
            kernel = supervised_process();
        }

        supervised_process kernel;
        bool watched = false;
    };

    asio::steady_timer timer_;
    clock::time_point& latest_;
    std::shared_ptr<shared> const shared_;
};

} // namespace ipybox::detail
