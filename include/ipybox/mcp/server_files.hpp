#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/server_params.hpp>

#include <filesystem>
#include <vector>

namespace ipybox::mcp::detail {

/// The files that a server on this machine is started from, as far as they exist. Code that can change it decides what
/// runs outside of the sandbox.
struct server_files {
    /// The program with its environment (the virtual environment, `node_modules`); what the arguments name, with the
    /// directories of the scripts among them, for scripts import what lies beside them; what variables such as
    /// PYTHONPATH name; where installed packages are; the `.env` of the directory it starts in, and all of that
    /// directory where it may take code from there (`launch_habits`). Absolute, sorted.
    std::vector<std::filesystem::path> read_only = {};

    /// Files with values of its environment.
    std::vector<std::filesystem::path> secret = {};
};

/// The files of a server whose variables have been put in. Empty where its program is missing.
[[nodiscard]] server_files files_of(server_params const& server);

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_files.ipp>
#endif
