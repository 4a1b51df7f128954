#pragma once

#include <ipybox/os/launch_spec.hpp>

#include <chrono>
#include <filesystem>
#include <string>

namespace ipybox {

/// What happens when a cell leaves the kernel in another working directory.
enum class cwd_policy {
    keep,   ///< the change stays
    restore ///< the kernel goes back after the cell and says so on stdout
};

/// What one kernel is started with.
struct kernel_launch {
    environment env;                   ///< its whole environment
    std::filesystem::path working_dir; ///< absolute
    cwd_policy after_cell = cwd_policy::keep;

    /// Bound on the start, from the request to the first sign of life.
    std::chrono::milliseconds start_bound = std::chrono::seconds(30);
};

/// What is known of a kernel that runs.
struct kernel_info {
    std::string implementation;         ///< "ipykernel", "bash_kernel", …
    std::string implementation_version; ///< "7.4.0"
    std::string language;               ///< "python"
    std::string language_version;       ///< "3.11.7"
};

} // namespace ipybox
