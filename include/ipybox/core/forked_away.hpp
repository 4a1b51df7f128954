#pragma once

#include <ipybox/core/error.hpp>

namespace ipybox::detail {

/// The error in a forked child for the use of an object of its parent.
[[nodiscard]] inline error forked_away() {
    return {errc::not_running, "this process is a fork of the one that made the executor: make one of its own"};
}

} // namespace ipybox::detail
