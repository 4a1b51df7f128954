#pragma once

#include <ipybox/core/config.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace ipybox {

/// A limit that a kernel exceeded, with all that it had started. It was ended for that.
struct exceeded_limit {
    enum class kind {
        memory,   ///< sandbox_limits::kernel_memory, in bytes
        processes ///< sandbox_limits::processes
    };

    kind which = kind::memory;
    std::uint64_t used = 0;
    std::uint64_t allowed = 0;

    friend bool operator==(exceeded_limit const&, exceeded_limit const&) = default;
};

/// Says it in words: "out of memory: it took 1200 MiB with all that it had started, …".
[[nodiscard]] std::string to_string(exceeded_limit const& limit);

/// How a process ended: with an exit code or by a signal; neither is known when the witness died with it.
struct exit_status {
    std::optional<int> code;
    std::optional<int> signal;
    std::optional<exceeded_limit> exceeded = std::nullopt; ///< of a kernel: why it was ended

    friend bool operator==(exit_status const&, exit_status const&) = default;
};

/// Says it in words: "exit code 1", "signal 9 (SIGKILL)", "unknown cause"; the limit that was exceeded is not said.
[[nodiscard]] std::string to_string(exit_status const& status);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/core/impl/exit_status.ipp>
#endif
