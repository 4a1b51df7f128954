#pragma once

#include <string_view>

namespace ipybox::detail {

/// The stages of a job. It only goes forward.
enum class job_state {
    waiting, ///< for executions that were submitted before it, or for the start of the kernel
    running, ///< the kernel has it
    ended    ///< it has a result
};

/// "waiting", "running" or "ended".
[[nodiscard]] constexpr std::string_view to_string(job_state s) noexcept {
    switch (s) {
    case job_state::waiting: return "waiting";
    case job_state::running: return "running";
    case job_state::ended: break;
    }
    return "ended";
}

} // namespace ipybox::detail
