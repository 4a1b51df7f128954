#pragma once

#include <ipybox/session/kernel_lifecycle.hpp>
#include <ipybox/session/late_output.hpp>
#include <ipybox/session/occurrence.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace ipybox::detail {

class kernel_manager;
class session_settings;

/**
 * \brief The parts of a session that its executions use, one after the other.
 * \par Thread safety Unsafe: belongs to the session's executor. `post` is safe.
 */
struct run_context {
    /// Runs work on the executor; nothing happens once the session has ended. From any thread.
    using post_function = std::function<void(std::function<void()> work)>;

    run_context(asio::any_io_executor on, std::shared_ptr<session_settings const> with,
                std::shared_ptr<kernel_manager> of, post_function from_outside)
        : executor(std::move(on)), settings(std::move(with)), kernel(std::move(of)), post(std::move(from_outside)),
          inbox(executor) {}
    run_context(run_context const&) = delete;
    run_context& operator=(run_context const&) = delete;
    ~run_context() = default;

    asio::any_io_executor const executor;
    std::shared_ptr<session_settings const> const settings;
    std::shared_ptr<kernel_manager> const kernel;
    post_function const post;

    execution_inbox inbox;
    late_output late; ///< what came between two executions: begins the next one's output
    std::chrono::steady_clock::time_point looked_at = {}; ///< when what the latest code has left was looked at
    unsigned executions = 0;                              ///< how many there were
    unsigned cells = 0;                                   ///< how many there were since the start, or the last reset
    kernel_lifecycle::generation counted_by = 0;          ///< the kernel that the last one of them was given to
    unsigned questions = 0;                               ///< how many of `input()` there were
    unsigned open_question = 0;                           ///< the one that the code waits for; 0: none
};

} // namespace ipybox::detail
