#pragma once

#include <ipybox/core/error.hpp>

namespace ipybox::detail {

/// What is said in a fork to those who use what only its parent has.
[[nodiscard]] inline error forked_away() {
    return {errc::not_running, "this process is a fork of the one that made the executor: make one of its own"};
}

} // namespace ipybox::detail
