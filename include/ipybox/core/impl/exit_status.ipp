#pragma once

#include <ipybox/core/exit_status.hpp>

#include <csignal>
#include <cstring>

namespace ipybox {

IPYBOX_DECL std::string to_string(exceeded_limit const& limit) {
    if (limit.which == exceeded_limit::kind::processes)
        return "it had " + std::to_string(limit.used) +
               " processes and threads with all that it had started, its limit is " + std::to_string(limit.allowed) +
               " (sandbox_limits::processes)";
    auto const mebibytes = [](std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
    return "out of memory: it took " + mebibytes(limit.used) + " with all that it had started, its limit is " +
           mebibytes(limit.allowed) + " (sandbox_limits::kernel_memory)";
}

IPYBOX_DECL std::string to_string(exit_status const& status) {
    if (status.signal) {
        auto text = "signal " + std::to_string(*status.signal);
        // sigabbrev_np is the only one of its family that neither translates nor allocates.
        if (char const* name = ::sigabbrev_np(*status.signal)) text.append(" (SIG").append(name).append(")");
        return text;
    }
    if (status.code) return "exit code " + std::to_string(*status.code);
    return "unknown cause";
}

} // namespace ipybox
