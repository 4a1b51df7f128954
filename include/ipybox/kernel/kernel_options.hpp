#pragma once

#include <ipybox/os/launch_spec.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace ipybox::detail {

/// The guard that keeps a kernel from acting by itself.
enum class kernel_guard {
    none,    ///< it may do what the sandbox lets it do
    no_exec, ///< the system starts no program for it, and lets it touch no other process: docs/action-protocol.md
             ///< section 4
};

/// The settings that one kernel is started with.
struct kernel_launch {
    environment env;                   ///< its whole environment
    std::filesystem::path working_dir; ///< absolute
    bool keep_cwd = true;              ///< a cell may leave the next one in another directory; else the kernel
                                       ///< returns after the cell, and says so on stdout

    /// Bound on the start, from the request to the first sign of life.
    std::chrono::milliseconds start_bound = std::chrono::seconds(30);

    /// The kernel's end of its action channel; none: it can ask for nothing. Transports that cannot pass it on leave
    /// it.
    std::shared_ptr<os::unique_fd const> action_socket = nullptr;

    kernel_guard guard = kernel_guard::none; ///< whether its code may start programs itself
    std::vector<system_access> allow = {};   ///< what the guard leaves open

    /// A stop request, from any thread, ends the start with errc::not_running.
    std::stop_token stop = {};
};

/// A program that is run in a kernel's name, by the supervisor.
struct program_launch {
    std::vector<std::string> argv;
    std::filesystem::path working_dir; ///< absolute
    std::map<std::string, std::optional<std::string>> env =
        {}; ///< how its environment differs from the kernel's at its start
};

/// Information about a kernel that runs.
struct kernel_info {
    std::string implementation;         ///< "ipykernel", "bash_kernel", …
    std::string implementation_version; ///< "7.4.0"
    std::string language;               ///< "python"
    std::string language_version;       ///< "3.11.7"
};

} // namespace ipybox::detail
