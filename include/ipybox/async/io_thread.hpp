#pragma once

#include <ipybox/async/blocked_signals.hpp>
#include <ipybox/async/post_work.hpp>
#include <ipybox/async/thread_reaper.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/core/delete_in_owner.hpp>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include <functional>
#include <memory>
#include <thread>
#include <utility>

namespace ipybox::detail {

/**
 * \brief An I/O context with a thread of its own that runs it.
 * \details Both end with the object: what waits in the context then is destroyed, unrun. On the thread itself, or on
 * one that it waits for, its end cannot be waited for: it goes on by itself, and the end of the program waits for it. A
 * fork has no such thread: there nothing ends, and nothing is waited for.
 */
class io_thread {
  public:
    io_thread() = default;
    io_thread(io_thread const&) = delete;
    io_thread& operator=(io_thread const&) = delete;

    ~io_thread() {
        stop();
        (void)join();
    }

    /// Ends the thread behind what has been posted until now. From any thread.
    void stop() noexcept {
        if (!has_thread()) return;
        try {
            stop_behind(*run_->context);
        } catch (...) { run_->context->stop(); }
    }

    /// The same from within: behind what has been posted until now, and what that posts.
    [[nodiscard]] std::function<void()> stopper() {
        return [&context = *run_->context] { post_work(context.get_executor(), [&context] { stop_behind(context); }); };
    }

    /// Waits for the end of the thread, which something else brings about. False: it cannot be waited for here.
    bool join() {
        if (!has_thread()) return true;
        return thread_reaper::join(std::move(run_->thread));
    }

    [[nodiscard]] std::thread::id id() const noexcept { return run_->thread.get_id(); }

    [[nodiscard]] asio::io_context::executor_type get_executor() noexcept { return run_->context->get_executor(); }

  private:
    struct running {
        std::shared_ptr<asio::io_context> const context = std::make_shared<asio::io_context>(1);
        asio::executor_work_guard<asio::io_context::executor_type> const work{context->get_executor()};
        std::thread thread = thread_of(context); // shares the context, for it may outlast this object
    };

    static std::thread thread_of(std::shared_ptr<asio::io_context> context) {
        blocked_signals const blocked;
        return std::thread([context = std::move(context)]() mutable {
            context->run();
            context.reset(); // which may be the last
            thread_reaper::ended();
        });
    }

    static void stop_behind(asio::io_context& context) {
        post_work(context.get_executor(), [&context] { context.stop(); });
    }

    [[nodiscard]] bool has_thread() const noexcept { return run_.get_deleter().is_owner() && run_->thread.joinable(); }

    process_ptr<running> const run_{new running};
};

} // namespace ipybox::detail
