#pragma once

#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace ipybox {

/// How a process ended: with an exit code or by a signal; neither is known when the witness died with it.
struct exit_status {
    /// A limit that a kernel exceeded, with all that it had started. It was ended for that.
    struct exceeded_limit {
        /// Which limit.
        enum class kind {
            memory,   ///< sandbox_limits::kernel_memory, in bytes
            processes ///< sandbox_limits::processes
        };

        kind which;            ///< the limit that was exceeded
        std::uint64_t used;    ///< the use, in bytes or in processes
        std::uint64_t allowed; ///< the limit, in the same unit

        /// Whether all members are equal.
        friend bool operator==(exceeded_limit const&, exceeded_limit const&) = default;

        /// Says it in words: "out of memory: it took 1200 MiB with all that it had started, …".
        [[nodiscard]] friend std::string to_string(exceeded_limit const& limit) {
            if (limit.which == kind::processes)
                return "it had " + std::to_string(limit.used) +
                       " processes and threads with all that it had started, its limit is " +
                       std::to_string(limit.allowed) + " (`processes`)";
            auto const mebibytes = [](std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
            return "out of memory: it took " + mebibytes(limit.used) + " with all that it had started, its limit is " +
                   mebibytes(limit.allowed) + " (`kernel-memory`)";
        }
    };

    /// The exit code, if the process ended by itself.
    std::optional<int> code;
    /// The signal that ended it.
    std::optional<int> signal;
    std::optional<exceeded_limit> exceeded = std::nullopt; ///< of a kernel: why it was ended

    /// Whether all members are equal.
    friend bool operator==(exit_status const&, exit_status const&) = default;

    /// Says it in words: "exit code 1", "signal 9 (SIGKILL)", "unknown cause"; the limit that was exceeded is not said.
    [[nodiscard]] friend std::string to_string(exit_status const& status) {
        if (status.signal) {
            auto text = "signal " + std::to_string(*status.signal);
            // sigabbrev_np is the only one of its family that neither translates nor allocates.
            if (char const* name = ::sigabbrev_np(*status.signal)) text.append(" (SIG").append(name).append(")");
            return text;
        }
        if (status.code) return "exit code " + std::to_string(*status.code);
        return "unknown cause";
    }
};

} // namespace ipybox
