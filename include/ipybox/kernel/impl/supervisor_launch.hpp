#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/kernel/impl/supervisor_cgroups.hpp>
#include <ipybox/kernel/kernel_options.hpp>
#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/os/process.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace ipybox::detail {

/// A supervisor that was started: its process, and what it is reached by.
struct launched_supervisor {
    os::process process;
    os::unique_fd control;
    os::unique_fd standard_error;
    os::unique_fd lifeline;
    std::string program; ///< the interpreter, or what the sandbox has put in front of it
    std::shared_ptr<void const> kept;
    std::shared_ptr<sandbox_config const> network;
    std::optional<launch_spec::kernel_walls> walls; ///< between its kernels; none: no walls
    std::shared_ptr<supervisor_cgroups> groups; ///< in which it and its kernels are; none where there are to be none
};

/**
 * \brief Starts a supervisor in its sandbox and greets it (docs/kernel-protocol.md section 1).
 * \details A sandbox policy is the application's, and may throw whatever its concept says: that is an error here.
 * \param private_dir a directory that the host and the sandbox share; empty: none
 * \par Errors those of the sandbox policy; errc::invalid_argument — a directory cannot be used;
 * errc::sandbox_unavailable — no walls; errc::kernel_start_failed
 */
[[nodiscard]] result<launched_supervisor> launch_supervisor(supervisor_options const& options,
                                                            std::filesystem::path const& private_dir);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/kernel/impl/supervisor_launch.ipp>
#endif
