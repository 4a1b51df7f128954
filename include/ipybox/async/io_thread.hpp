#pragma once

#include <ipybox/core/config.hpp>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include <thread>

namespace ipybox::detail {

/**
 * \brief An I/O context with a thread of its own that runs it.
 * \details The destructor lets what is under way run dry; it must not be called on the thread itself.
 */
class io_thread {
  public:
    io_thread() : work_(context_.get_executor()), thread_([this] { context_.run(); }) {}
    io_thread(io_thread const&) = delete;
    io_thread& operator=(io_thread const&) = delete;

    ~io_thread() { join(); }

    /// Lets what is under way run dry and ends the thread.
    void join() {
        work_.reset();
        if (thread_.joinable()) thread_.join();
    }

    [[nodiscard]] asio::io_context::executor_type get_executor() noexcept { return context_.get_executor(); }

  private:
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::thread thread_;
};

} // namespace ipybox::detail
