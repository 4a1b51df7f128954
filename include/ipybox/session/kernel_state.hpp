#pragma once

namespace ipybox::detail {

/// The states of a kernel.
enum class kernel_state {
    stopped, ///< not started yet, or stopped
    idle,    ///< waits for code
    busy,    ///< runs code
    dead     ///< ended by itself; `reset()` brings a fresh one
};

} // namespace ipybox::detail
