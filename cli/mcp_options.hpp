#pragma once

#include <ipybox/app/code_session_options.hpp>

#include <cli/box_options.hpp>
#include <cli/client_setup.hpp>

#include <chrono>
#include <filesystem>
#include <optional>

namespace ipybox::cli {

/// The options of `ipybox mcp`; see `ipybox mcp --help`. `working_dir` is the workspace.
struct mcp_options : box_options {
    action_approval approval = action_approval::ask;
    std::optional<std::chrono::milliseconds>
        wait;                               ///< before a call that executes a cell is answered with the cell's id
    std::optional<named_sessions> sessions; ///< none: one kernel
    log_level level = log_level::info;
    std::filesystem::path missing_config; ///< a --sandbox-config that does not exist: the default counts
    std::optional<client_setup> setup;    ///< none: it serves
    bool has_old_options = false;         ///< options of the Python package that mean nothing here
};

/// Adds the command `mcp`, which writes to `options` when it is parsed.
void add_mcp_command(CLI::App& program, mcp_options& options);

} // namespace ipybox::cli
