#pragma once

#include <ipybox/core/exit_status.hpp>

#include <csignal>
#include <cstring>

namespace ipybox {

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
