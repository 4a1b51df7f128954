#pragma once

#include <ipybox/core/config.hpp>

#include <optional>
#include <string>

namespace ipybox {

/// How a process ended: with an exit code or by a signal; neither is known when the witness died with it.
struct exit_status {
    std::optional<int> code;
    std::optional<int> signal;

    friend bool operator==(exit_status const&, exit_status const&) = default;
};

/// Says it in words: "exit code 1", "signal 9 (SIGKILL)", "unknown cause".
[[nodiscard]] std::string to_string(exit_status const& status);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/core/impl/exit_status.ipp>
#endif
