#pragma once

#include <ipybox/fwd.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace ipybox::detail {

class event_queue;

/// The cell on whose behalf actions are asked for.
struct acting_cell {
    std::string id;                                ///< of its execution
    std::string code = {};                         ///< its source
    std::shared_ptr<event_queue> events = nullptr; ///< where its reader is asked, if there is one and no policy

    /// Called with the number of its requests that wait for a decision, whenever that changes, or has changed.
    std::function<void(std::size_t, std::chrono::steady_clock::time_point)> waiting = {};

    /// Decides in the place of the session's policy.
    std::shared_ptr<any_approval const> approval = nullptr;
};

} // namespace ipybox::detail
