#pragma once

#include <ipybox/async/late_joins.hpp>
#include <ipybox/core/config.hpp>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include <memory>
#include <thread>
#include <utility>

namespace ipybox::detail {

/**
 * \brief An I/O context with a thread of its own that runs it.
 * \details The destructor lets what is under way run dry. On the thread itself nobody can wait for that: it goes on by itself, and the end of the
 * program waits for it.
 */
class io_thread {
  public:
    io_thread()
        : context_(std::make_shared<asio::io_context>(1)), work_(context_->get_executor()),
          thread_([context = context_] { context->run(); }) {}
    io_thread(io_thread const&) = delete;
    io_thread& operator=(io_thread const&) = delete;

    ~io_thread() { join(); }

    /// Lets what is under way run dry and ends the thread.
    void join() {
        work_.reset();
        if (!thread_.joinable()) return;
        if (thread_.get_id() == std::this_thread::get_id())
            late_joins::add(std::move(thread_));
        else
            thread_.join();
    }

    [[nodiscard]] asio::io_context::executor_type get_executor() noexcept { return context_->get_executor(); }

  private:
    std::shared_ptr<asio::io_context> const context_; // shared with the thread, which may outlast this object
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::thread thread_;
};

} // namespace ipybox::detail
