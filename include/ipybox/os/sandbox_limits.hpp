#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <optional>

namespace ipybox {
namespace detail {

/// Bytes of memory that the machine has; none where it does not say.
[[nodiscard]] inline std::optional<std::uint64_t> physical_memory() noexcept {
    auto const pages = ::sysconf(_SC_PHYS_PAGES);
    auto const size = ::sysconf(_SC_PAGESIZE);
    if (pages <= 0 || size <= 0) return std::nullopt;
    return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
}

} // namespace detail

/**
 * \brief What kernels, and the programs that they start, may take of the machine: setrlimit(2).
 * \details The supervisor takes the limits upon itself before there is a kernel, and hands them down; code cannot raise them, except root without a sandbox.
 * None: no limit but those of the application itself, which always count as well. Core files are never written.
 */
struct sandbox_limits {
    /// Bytes that each process can write to in memory, whether it does or not. Beyond it there is no more to be had: `MemoryError` in Python.
    std::optional<std::uint64_t> memory = detail::physical_memory();

    /// Processes and threads of all kernels that share a supervisor, at one time. Beyond it none can be started: `BlockingIOError` in Python. Counts in
    /// bubblewrap, and for root not at all: the system has no such limit for it.
    std::optional<std::uint64_t> processes = 2048;

    /// Processor time of each process. What has used it up is ended by SIGXCPU; a kernel is dead then.
    std::optional<std::chrono::seconds> cpu_time = std::nullopt;

    /// Bytes of each file that is written. Beyond it: `OSError` (EFBIG) in Python.
    std::optional<std::uint64_t> file_size = std::nullopt;

    /// Files that each process can have open at one time. Beyond it: `OSError` (EMFILE) in Python.
    std::optional<std::uint64_t> open_files = 65536;

    friend bool operator==(sandbox_limits const&, sandbox_limits const&) = default;
};

} // namespace ipybox
