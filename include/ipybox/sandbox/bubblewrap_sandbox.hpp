#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/sandbox/sandbox_policy.hpp>

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

namespace ipybox {

/// Options of bubblewrap_sandbox.
struct bubblewrap_options {
    /// The `bwrap` program; empty: the one on PATH.
    std::filesystem::path program = {};

    /// Bytes that each private temporary directory may take; 0: what the kernel allows (half the memory).
    std::uint64_t tmpfs_size = std::uint64_t{256} * 1024 * 1024;
};

/**
 * \brief Runs the kernel under bubblewrap (`bwrap`), the unprivileged Linux sandbox. The default.
 * \details Inside, everything is read-only but `launch_spec::working_dir` and `launch_spec::writable`. /tmp, /run,
 * /var/tmp and /dev/shm are private and empty, /sys is empty, /dev has the harmless devices only; what lies below them
 * and is needed (`working_dir`, `writable`, `readable`) is bound back. What is `readable` is read-only where it lies in a
 * writable directory, too: code cannot change the Python that the next supervisor starts. There is no network but a loopback of its own;
 * user, pid, ipc, uts and cgroup namespaces are its own; all capabilities are dropped, for root too. A filter of system
 * calls closes Unix sockets, which are the doors of the user's services, and what is listed at `system_access` and in
 * docs/design.md; `launch_spec::allow` leaves parts of it open. Every other file that the user can read can be read
 * inside. The program is the first process of its pid namespace: with its end every other one ends.
 *
 * The first `wrap` asks the machine whether all of this can be had, by running /bin/sh in it (5 ms, at most 5 s);
 * success is remembered for the process.
 * \par Thread safety Safe, shared objects too.
 */
class bubblewrap_sandbox {
  public:
    bubblewrap_sandbox() = default;
    explicit bubblewrap_sandbox(bubblewrap_options options) : options_(std::move(options)) {}

    [[nodiscard]] bubblewrap_options const& options() const noexcept { return options_; }

    /**
     * \brief Puts `bwrap` and its options before the program's arguments.
     * \details The first call in a process tries what bubblewrap can do here, which holds up the calling thread for about 50 ms, 5 s at most.
     * The environment and the control descriptor stay what they are. `working_dir` becomes the path without
     * symbolic links.
     * \par Errors errc::sandbox_unavailable — bwrap is missing, or this machine does not permit what it needs; the text
     * says what to do. errc::invalid_argument — nothing to start; a path is not absolute, is not there, or would open
     * what the sandbox closes ("/", "/tmp").
     */
    [[nodiscard]] result<launch_spec> wrap(launch_spec spec) const;

    /**
     * \brief Those of some paths that code in a sandbox for `spec` can change.
     * \details A writable directory itself, and what lies in it, unless `spec` has it read-only; paths through a link that lies in a writable directory, where another can
     * take its place. Of `spec.read_only` these are the ones that cannot be made read-only where they lie.
     */
    [[nodiscard]] static std::vector<std::filesystem::path>
    unprotected(launch_spec const& spec, std::vector<std::filesystem::path> const& paths);
    [[nodiscard]] static std::vector<std::filesystem::path> unprotected(launch_spec const& spec) {
        return unprotected(spec, spec.read_only);
    }

  private:
    bubblewrap_options options_;
};

static_assert(sandbox_policy<bubblewrap_sandbox>);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/bubblewrap_sandbox.ipp>
#endif
