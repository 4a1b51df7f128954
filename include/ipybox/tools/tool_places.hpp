#pragma once

#include <ipybox/async/context_bound_executor.hpp>
#include <ipybox/async/turn_queue.hpp>
#include <ipybox/tools/tool_threads.hpp>

#include <asio/any_io_executor.hpp>

#include <memory>

namespace ipybox::detail {

/// The executors on which a session's host tools are called, unless they name one. Cheap to copy.
struct tool_places {
    explicit tool_places(asio::any_io_executor const& executor)
        : session(std::make_shared<context_bound_executor const>(executor)), turns(turn_queue::make(executor)) {}

    std::shared_ptr<context_bound_executor const> session; ///< the session's own executor
    std::shared_ptr<turn_queue> turns;                     ///< the same for short functions, which take turns with it
    std::shared_ptr<tool_threads> threads = std::make_shared<tool_threads>(); ///< for functions that block
};

} // namespace ipybox::detail
