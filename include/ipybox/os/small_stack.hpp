#pragma once

#include <ipybox/core/config.hpp>

#include <sys/resource.h>

#include <optional>

namespace ipybox::os {

/// Bytes of the stack that programs get which this process starts, where a Python interpreter may not find it enough.
[[nodiscard]] inline std::optional<rlim_t> small_stack() noexcept {
    constexpr rlim_t enough = rlim_t(1) << 20;
    rlimit limit{};
    if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= enough) return std::nullopt;
    return limit.rlim_cur;
}

} // namespace ipybox::os
