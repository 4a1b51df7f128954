#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/os/host_programs.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace ipybox::detail {

/// The settings that decide whether this machine permits a sandbox without privileges.
struct sandbox_host {
    bool apparmor_restricts = false; ///< kernel.apparmor_restrict_unprivileged_userns is 1 (Ubuntu)
    bool clone_disabled = false;     ///< kernel.unprivileged_userns_clone is 0 (Debian before 11, Arch hardened)
    bool limit_zero = false;         ///< user.max_user_namespaces is 0
    bool container = false;          ///< Docker, Podman or Kubernetes
    bool root = false;
};

[[nodiscard]] sandbox_host this_sandbox_host(os::host_environment const& host);

/// How long trying a sandbox may take. A busy machine may need seconds for it.
inline constexpr std::chrono::seconds longest_trial(20);

/// The error of an unavailable sandbox: why, and what to do; the way without one is added.
[[nodiscard]] error sandbox_unavailable(std::string text);

/// Whether a trial failed for want of memory, descriptors or processes, or by this process' limit for the size of
/// files: no other sandbox would start then either, and nor would a program without one.
[[nodiscard]] bool is_shortage(std::error_code cause);

/// The bwrap program: `wanted`, or the one on PATH, where no code can have put it.
[[nodiscard]] result<std::filesystem::path> find_bubblewrap(std::filesystem::path const& wanted,
                                                            os::host_programs const& host);

/// Turns what bwrap said into an errc::sandbox_unavailable whose text says what is missing and what mends it.
[[nodiscard]] error bubblewrap_unavailable(std::string_view said, sandbox_host const& host);

/**
 * \brief Runs a trivial program under `program flags…` and the filter of system calls, and tells which flags to use.
 * \details The flags come back as they are, without `--disable-userns` where bwrap is older than that. Success is
 * remembered for the process, failure is not: what the text advises can be done while the process runs. Nothing is
 * locked meanwhile: a fork would wait for it, or for ever. Threads that begin at once try each by itself.
 * \par Errors errc::sandbox_unavailable; errc::io_error — is_shortage()
 */
[[nodiscard]] result<std::vector<std::string>>
bubblewrap_preflight(std::filesystem::path const& program, std::vector<std::string> flags, std::string const& filter,
                     os::host_environment const& host, std::chrono::milliseconds bound = longest_trial);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/bubblewrap_preflight.ipp>
#endif
