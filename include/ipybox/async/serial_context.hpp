#pragma once

#include <ipybox/async/context_bound_executor.hpp>
#include <ipybox/async/io_thread.hpp>
#include <ipybox/async/post_work.hpp>
#include <ipybox/async/probe.hpp>
#include <ipybox/core/forked_away.hpp>
#include <ipybox/core/owning_process.hpp>
#include <ipybox/core/result.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
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

    /// Whether a call that blocks the calling thread would be served; the error says why not. May be asked, copied and
    /// dropped behind the end of the context: a call would fail at once then.
    std::function<result<void>()> may_block;

    std::unique_ptr<io_thread> thread; ///< none on the application's executor
    owning_process owner = {};
};

inline serial_context serial_context::on_own_thread() {
    auto thread = std::make_unique<io_thread>();
    auto const executor = thread->get_executor();
    auto const may_block = [serving = thread->id(), owner = owning_process()]() -> result<void> {
        if (!owner.is_this()) return failure(forked_away());
        if (std::this_thread::get_id() == serving) return failure(errc::would_deadlock);
        return {};
    };
    return {executor, may_block, std::move(thread)};
}

/**
 * \brief Finds out whether the threads of an application serve a strand of its executor. May outlive the context.
 * \par Thread safety Safe.
 */
class serving_threads {
  public:
    using strand = asio::strand<asio::any_io_executor>;

    explicit serving_threads(strand served) : strand_(std::move(served)) {}

    /// Whether another thread than the calling one serves the strand; yes when the context has gone.
    [[nodiscard]] result<void> others(std::chrono::milliseconds bound = served_within,
                                      std::chrono::milliseconds by_another = served_by_another_within) const {
        if (run_here()) return failure(errc::would_deadlock);
        using enum probe::outcome;
        auto seen = probe::of([this](probe::handler sent) { dispatch(std::move(sent)); }, bound);
        if (seen == not_run) {
            return failure(errc::would_deadlock,
                           "no thread runs the executor's I/O context: run it on another thread than "
                           "the one that blocks, call an async_ operation, or construct the executor "
                           "without an I/O executor, so that it has a thread of its own");
        }
        // If this thread runs it, others may do so too.
        if (seen == inline_here) seen = probe::of([this](probe::handler sent) { post(std::move(sent)); }, by_another);
        return seen == elsewhere || seen == context_gone ? result<void>() : failure(errc::would_deadlock);
    }

  private:
    /// On the strand itself, or on a thread that runs the whole context, which is as bad.
    [[nodiscard]] bool run_here() const {
        using context_executor = asio::io_context::executor_type;
        bool here = false;
        strand_.with([&](asio::any_io_executor const& executor) {
            auto const application = inner(executor);
            // Asio 1.22 casts to whatever type is asked for.
            auto const* context = application.target_type() == typeid(context_executor)
                                      ? application.target<context_executor>()
                                      : nullptr;
            here =
                executor.target<strand>()->running_in_this_thread() || (context && context->running_in_this_thread());
        });
        return here;
    }

    void dispatch(probe::handler sent) const {
        strand_.with([&](asio::any_io_executor const& executor) { dispatch_work(inner(executor), std::move(sent)); });
    }

    void post(probe::handler sent) const {
        strand_.with([&](asio::any_io_executor const& executor) { post_work(inner(executor), std::move(sent)); });
    }

    /// The application's executor: a handler of the strand may take its time.
    [[nodiscard]] static asio::any_io_executor inner(asio::any_io_executor const& executor) {
        return executor.target<strand>()->get_inner_executor();
    }

    context_bound_executor const strand_;
};

inline serial_context serial_context::on_strand_of(asio::any_io_executor const& application) {
    auto const strand = asio::make_strand(application);
    auto const may_block = [threads = std::make_shared<serving_threads const>(strand),
                            owner = owning_process()]() -> result<void> {
        if (!owner.is_this()) return failure(forked_away());
        return threads->others();
    };
    return {strand, may_block, nullptr};
}

} // namespace ipybox::detail
