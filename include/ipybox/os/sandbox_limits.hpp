#pragma once

#include <ipybox/os/usable_memory.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace ipybox {
/**
 * \brief Limits on the use of the machine by kernels and the programs that they start.
 * \details The supervisor takes the limits of one process upon itself before there is a kernel, and hands them down
 * (setrlimit(2)); code cannot raise them, except root without a sandbox. The supervisor measures a kernel with all that
 * it has started while code runs, or the system counts it in a control group. None: no limit but those of the
 * application itself, which always count as well. Core files are never written.
 */
struct sandbox_limits {
    /// Bytes that each process can write to in memory, whether it does or not. Beyond it the code gets `MemoryError` in
    /// Python.
    std::optional<std::uint64_t> memory = detail::physical_memory();

    /// Bytes of memory that a kernel takes together with all that it has started: what they share counts once, files
    /// that are mapped do not count. A kernel that takes more while it runs code is ended (errc::kernel_died,
    /// `exit_status::exceeded`), and so is what it has started.
    std::optional<std::uint64_t> kernel_memory = detail::large_share_of_memory();

    /// Processes and threads at one time. In bubblewrap the system counts those of all kernels that share a supervisor,
    /// unless the user is root: beyond the limit none can be started, `BlockingIOError` in Python. Elsewhere, a kernel
    /// that has more while it runs code is ended, as with `kernel_memory`.
    std::optional<std::uint64_t> processes = 2048;

    /// Processor time of each process. A process that has used it up is ended by SIGXCPU; a kernel is dead then.
    std::optional<std::chrono::seconds> cpu_time = std::nullopt;

    /// Bytes of each file that is written. Beyond it: `OSError` (EFBIG) in Python.
    std::optional<std::uint64_t> file_size = std::nullopt;

    /// Files that each process can have open at one time. Beyond it: `OSError` (EMFILE) in Python.
    std::optional<std::uint64_t> open_files = 65536;

    /// An empty control group of version 2 (cgroups(7)) that was delegated to this user, absolute or from the group of
    /// this process on: "../kernels". In it each kernel gets a group of its own, so that the system counts and enforces
    /// `kernel_memory` and `processes` for the kernel with all that it has started, without a gap. It is made where it
    /// is missing; where it cannot be used, a start fails (errc::sandbox_unavailable). Empty: no groups are made.
    std::filesystem::path cgroup = {};

    /// Whether all members are equal.
    friend bool operator==(sandbox_limits const&, sandbox_limits const&) = default;
};

} // namespace ipybox
