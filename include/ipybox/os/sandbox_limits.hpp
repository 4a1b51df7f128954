#pragma once

#include <ipybox/os/usable_memory.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace ipybox {
/**
 * \brief What kernels, and the programs that they start, may take of the machine.
 * \details The supervisor takes the limits of one process upon itself before there is a kernel, and hands them down (setrlimit(2)); code cannot raise them,
 * except root without a sandbox. What a kernel takes with all that it has started is looked at by the supervisor while code runs.
 * None: no limit but those of the application itself, which always count as well. Core files are never written.
 */
struct sandbox_limits {
    /// Bytes that each process can write to in memory, whether it does or not. Beyond it there is no more to be had: `MemoryError` in Python.
    std::optional<std::uint64_t> memory = detail::physical_memory();

    /// Bytes of memory that a kernel takes together with all that it has started: what they share counts once, files that are mapped do not count. A kernel
    /// that takes more while it runs code is ended (errc::kernel_died, `exit_status::exceeded`), and so is what it has started.
    std::optional<std::uint64_t> kernel_memory = detail::large_share_of_memory();

    /// Processes and threads at one time. In bubblewrap the system counts those of all kernels that share a supervisor, unless the user is root: beyond the
    /// limit none can be started, `BlockingIOError` in Python. Elsewhere, a kernel that has more while it runs code is ended, as with `kernel_memory`.
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
