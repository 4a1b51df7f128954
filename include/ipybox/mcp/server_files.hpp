#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/file_memory.hpp>
#include <ipybox/mcp/server_params.hpp>

#include <filesystem>
#include <vector>

namespace ipybox::mcp::detail {

/// The files that a server on this machine is started from. Code that can change or make them decides what runs outside
/// of the sandbox.
struct server_files {
    /// The program with its environment (the virtual environment, `node_modules`); what the arguments and the values of
    /// its own variables name, with the directories of the scripts among them, for scripts import what lies beside
    /// them; what variables such as PYTHONPATH and NODE_OPTIONS name; where installed packages are; the `.env` of the
    /// directory it starts in, and all of that directory where it may take code from there (`launch_habits`). Absolute,
    /// sorted, as far as they exist.
    std::vector<std::filesystem::path> read_only = {};

    /// Those that do not exist and would count as soon as they did: the program, scripts among its arguments, `.env`,
    /// what those variables name, where packages are installed. Absolute, sorted; directories end with a slash.
    std::vector<std::filesystem::path> missing = {};

    /// Files with values of its environment, whether they exist or not.
    std::vector<std::filesystem::path> secret = {};

    /// Files of it that are code, or say which code runs: these are to be as they were when the server was approved.
    code_places code = {};

    /// The program, and the scripts and settings that its arguments name. Absolute, as far as they exist.
    std::vector<std::filesystem::path> named = {};
};

/// The files of a server whose variables have been put in.
[[nodiscard]] server_files files_of(server_params const& server);

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_files.ipp>
#endif
