#pragma once

#include <ipybox/async/io_thread.hpp>
#include <ipybox/async/probe.hpp>
#include <ipybox/core/forked_away.hpp>
#include <ipybox/core/owning_process.hpp>
#include <ipybox/core/result.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/strand.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <typeinfo>
#include <utility>

namespace ipybox::detail {

/// How long a blocking call waits for a thread that runs the application's executor.
inline constexpr std::chrono::milliseconds served_within = std::chrono::seconds(5);

/// The same, where the caller is one of the threads that run it.
inline constexpr std::chrono::milliseconds served_by_another_within = std::chrono::seconds(1);

/// An executor that runs one handler at a time: of a thread of its own, or a strand of the application's executor.
struct serial_context {
    [[nodiscard]] static serial_context on_own_thread();
    [[nodiscard]] static serial_context on_strand_of(asio::any_io_executor const& application);

    asio::any_io_executor executor;

    /// Whether a call that blocks the calling thread would be served; the error says why not. Outlives the context.
    std::function<result<void>()> may_block;

    std::unique_ptr<io_thread> thread; ///< none on the application's executor
    owning_process owner = {};
};

inline serial_context serial_context::on_own_thread() {
    auto thread = std::make_unique<io_thread>();
    auto const executor = thread->get_executor();
    auto const may_block = [executor, owner = owning_process()]() -> result<void> {
        if (!owner.is_this()) return failure(forked_away());
        if (executor.running_in_this_thread()) return failure(errc::would_deadlock);
        return {};
    };
    return {executor, may_block, std::move(thread)};
}

/// Whether another thread runs an executor that is not known to be this thread's.
[[nodiscard]] inline result<void> served_elsewhere(asio::any_io_executor const& application,
                                                   std::chrono::milliseconds bound = served_within,
                                                   std::chrono::milliseconds by_another = served_by_another_within) {
    auto seen = probe::dispatch(application, bound);
    if (seen == probe::outcome::elsewhere) return {};
    if (seen == probe::outcome::not_run) {
        return failure(errc::would_deadlock, "no thread runs the executor's I/O context: run it on another thread than "
                                             "the one that blocks, call an async_ operation, or construct the executor "
                                             "without an I/O executor, so that it has a thread of its own");
    }
    // This thread runs it, and perhaps others do.
    seen = probe::post(application, by_another);
    return seen == probe::outcome::elsewhere ? result<void>() : failure(errc::would_deadlock);
}

inline serial_context serial_context::on_strand_of(asio::any_io_executor const& application) {
    auto const strand = asio::make_strand(application);
    using context_executor = asio::io_context::executor_type;
    auto const may_block = [strand, application, owner = owning_process()]() -> result<void> {
        if (!owner.is_this()) return failure(forked_away());
        // Asio 1.22 casts to whatever type is asked for.
        auto const* context =
            application.target_type() == typeid(context_executor) ? application.target<context_executor>() : nullptr;
        // A thread that runs the whole context is as bad as the strand.
        if (strand.running_in_this_thread() || (context && context->running_in_this_thread()))
            return failure(errc::would_deadlock);
        return served_elsewhere(application);
    };
    return {strand, may_block, nullptr};
}

} // namespace ipybox::detail
