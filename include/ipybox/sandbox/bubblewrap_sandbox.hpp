#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>
#include <ipybox/sandbox/sandbox_policy.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

namespace ipybox {

/**
 * \brief Runs the kernel under bubblewrap (`bwrap`), the unprivileged Linux sandbox. The default.
 * \details The configuration says what can be read and written. By default everything is read-only but
 * `launch_spec::working_dir`, and files in which people keep secrets (`.env` there and below, keys and tokens in the
 * home directory) cannot be read; `launch_spec::writable` is writable in any case. Files that other programs take
 * commands from (`.git/hooks`, `.bashrc`, `.envrc`, …) are read-only in writable directories, and cannot be made there:
 * empty placeholders take the place of missing ones while the sandbox lives.
 *
 * /tmp, /run, /var/tmp and /dev/shm are private and empty, /sys is empty, /dev has the harmless devices and those that
 * the configuration names; what lies below them and is needed (`working_dir`, `writable`, `readable`) is bound back. A
 * `readable` path is read-only in a writable directory, too: code cannot change the Python that the next supervisor
 * starts. There is no network but a loopback of its own, where hosts that the configuration names can be reached by
 * name (docs/sandbox.md, section 8); user, pid, ipc, uts and cgroup namespaces are its own; all capabilities are
 * dropped, for root too. A filter of system calls closes Unix sockets, which are the doors of the user's services, and
 * what is listed at `system_access` and in docs/sandbox.md; `launch_spec::allow` leaves parts of it open. The program
 * is the first process of its pid namespace: with its end every other one ends.
 *
 * The first `wrap` asks the machine whether all of this is available, by running /bin/sh in it (5 ms, at most 20 s);
 * success is remembered for the process.
 * \par Thread safety Safe, shared objects too.
 */
class bubblewrap_sandbox {
  public:
    /// Its options.
    struct options {
        /// The `bwrap` program; empty: that of the configuration, else the one on PATH.
        std::filesystem::path program = {};

        /// Bytes that each private temporary directory may take; 0: what the kernel allows (half the memory).
        std::uint64_t tmpfs_size = std::uint64_t{256} * 1024 * 1024;

        /// How many names in directories the patterns of a configuration may search.
        std::size_t most_searched = 1'000'000;
    };

    bubblewrap_sandbox() = default;
    /// With the default configuration.
    explicit bubblewrap_sandbox(options chosen) : options_(std::move(chosen)) {}
    /// With a configuration of files and hosts.
    explicit bubblewrap_sandbox(sandbox_config config) : config_(std::move(config)) {}
    /// With options, too.
    explicit bubblewrap_sandbox(sandbox_config config, options chosen)
        : config_(std::move(config)), options_(std::move(chosen)) {}

    /// The options that it was made with.
    [[nodiscard]] options const& get_options() const noexcept { return options_; }
    /// The configuration that it was made with.
    [[nodiscard]] sandbox_config const& config() const noexcept { return config_; }

    /**
     * \brief Puts `bwrap` and its options before the program's arguments.
     * \details The first call in a process tries what bubblewrap can do here, which holds up the calling thread for
     * about 50 ms, 20 s at most. The environment, but for variables that the configuration hides, and the control
     * descriptor stay what they are. `working_dir` becomes the path without symbolic links. Placeholders are made,
     * which `launch_spec::keeps` holds.
     * \par Errors errc::sandbox_unavailable — bwrap is missing, or this machine does not permit what it needs; the text
     * says what to do. errc::invalid_argument — nothing to start; a path is not absolute, is not there, or would open
     * what the sandbox closes ("/", "/tmp"); the configuration cannot be enforced. errc::io_error — a directory cannot
     * be searched, or a placeholder not be made.
     */
    [[nodiscard]] result<launch_spec> wrap(launch_spec spec) const;

    /**
     * \brief The meaning of the configuration on this machine, now, for a working directory.
     * \par Errors those of `wrap`, but for errc::sandbox_unavailable: nothing is tried
     */
    [[nodiscard]] result<sandbox_config::description> describe(std::filesystem::path const& working_dir) const;

    /// The places that code in it can change, for launches in a working directory, on a host whose home directory `~`
    /// is
    [[nodiscard]] os::code_reach reach(std::filesystem::path const& working_dir,
                                       os::host_environment const& host) const;

    /**
     * \brief Those of some paths that code in a sandbox for `spec` can change.
     * \details A writable directory itself, and what lies in it, unless `spec` has it read-only; paths through a link
     * that lies in a writable directory, where another can take its place. Of `spec.read_only` these are the ones that
     * cannot be made read-only where they lie.
     */
    [[nodiscard]] static std::vector<std::filesystem::path>
    unprotected(launch_spec const& spec, std::vector<std::filesystem::path> const& paths);
    /// Those of `spec.read_only`.
    [[nodiscard]] static std::vector<std::filesystem::path> unprotected(launch_spec const& spec) {
        return unprotected(spec, spec.read_only);
    }

  private:
    sandbox_config config_;
    options options_;
};

static_assert(sandbox_policy<bubblewrap_sandbox>);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/bubblewrap_sandbox.ipp>
#endif
