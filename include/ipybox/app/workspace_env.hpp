#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/os/launch_spec.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace ipybox {

/// The variables of the program's environment and of the file `.env` of a workspace.
struct workspace_env {
    environment kernel;         ///< of the code: variables `KERNEL_ENV_NAME` of the environment, as `NAME`
    environment kernel_of_file; ///< the same of the file: `executor_options::kernel.untrusted_env`
    environment
        host; ///< for `${NAME}` in the parameters of MCP servers: those of the file that this process does not have
    std::vector<std::string> notices; ///< why the file, or a line of it, does not count
};

/**
 * \brief Reads the file `.env` of a workspace. Variables of this process go before those of the file.
 * \details The file lies where code can write. So it must be a regular file and no link, is not waited for, and does
 * not set variables that programs outside of the sandbox obey (`LD_PRELOAD`, `PATH` and their like; for servers also
 * those that interpreters and package managers obey, as `PYTHONPATH`): those are taken from this process's environment
 * alone. A file that is unusable is told in a notice, and left out.
 */
[[nodiscard]] workspace_env read_workspace_env(std::filesystem::path const& workspace);

/// The same for an environment that is given: pairs NAME=VALUE.
[[nodiscard]] workspace_env read_workspace_env(std::filesystem::path const& workspace, environment const& process);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/workspace_env.ipp>
#endif
