#pragma once

#include <ipybox/async/io_thread.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/strand.hpp>

#include <functional>
#include <memory>
#include <typeinfo>
#include <utility>

namespace ipybox::detail {

/// Where an object's handlers run, one at a time: on a thread of its own, or on a strand of the application's executor.
struct home {
    asio::any_io_executor executor;
    std::function<bool()> is_here; ///< whether the calling thread is the one that would have to serve a blocking call
    std::unique_ptr<io_thread> thread; ///< none on the application's executor
};

[[nodiscard]] inline home own_home() {
    auto thread = std::make_unique<io_thread>();
    auto const executor = thread->get_executor();
    return {executor, [executor] { return executor.running_in_this_thread(); }, std::move(thread)};
}

[[nodiscard]] inline home home_on(asio::any_io_executor const& application) {
    auto const strand = asio::make_strand(application);
    using context_executor = asio::io_context::executor_type;
    auto const is_here = [strand, application] {
        // A thread that runs the whole context is as bad as the strand; of other executors only the strand can be known.
        // Asio 1.22 casts to whatever type is asked for.
        auto const* context =
            application.target_type() == typeid(context_executor) ? application.target<context_executor>() : nullptr;
        return strand.running_in_this_thread() || (context && context->running_in_this_thread());
    };
    return {strand, is_here, nullptr};
}

} // namespace ipybox::detail
