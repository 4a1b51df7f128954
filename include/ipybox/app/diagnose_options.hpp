#pragma once

#include <ipybox/core/config.hpp>

#include <chrono>
#include <filesystem>
#include <string>

namespace ipybox {

/// How a machine is looked at. Members are given in this order.
struct diagnose_options {
    /// The sandbox policy that is wanted: "bubblewrap", "landlock", "srt", "best" (bubblewrap, else landlock) or
    /// "none".
    std::string sandbox = "bubblewrap";

    std::filesystem::path python = {};      ///< as in executor_options
    std::filesystem::path working_dir = {}; ///< as in executor_options; empty: the current directory

    std::chrono::milliseconds kernel_bound =
        std::chrono::seconds(30); ///< on each start of a kernel, and on its first cell
    std::chrono::milliseconds program_bound =
        std::chrono::seconds(10); ///< on each program that is asked for its version
};

} // namespace ipybox
