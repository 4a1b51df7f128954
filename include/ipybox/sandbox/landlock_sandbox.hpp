#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>
#include <ipybox/sandbox/sandbox_policy.hpp>

#include <cstddef>
#include <filesystem>
#include <utility>

namespace ipybox {

/**
 * \brief Runs the kernel in a domain of Landlock, where there are no user namespaces for bubblewrap: in Docker, on
 * hardened hosts.
 * \details Needs Linux 6.12 (Landlock ABI 6) and no program. Files are opened, not closed: the directories of the
 * system's programs, /proc and the working directory can be read, and what `allowRead` and the launch name;
 * `allowWrite` and `launch_spec::writable` can be written. A directory of its own is the code's TMPDIR while the
 * sandbox lives. The home directory and /tmp cannot be read. Of /dev there are null, zero, full, random, urandom and
 * tty; `allowWrite` of "/dev/shm" opens that, which `multiprocessing` needs for locks and queues.
 *
 * There are no sockets of the internet and, unless `launch_spec::allow` says otherwise, no Unix sockets; no signal
 * reaches a process outside. All capabilities are dropped. The filter of system calls is that of bubblewrap_sandbox.
 *
 * Files in an open directory cannot be closed: `wrap` refuses a configuration and a launch that ask for it. Files that
 * other programs take commands from are not protected in writable directories. docs/sandbox.md, section 10, tells what
 * else bubblewrap_sandbox closes.
 * \par Thread safety Safe, shared objects too.
 */
class landlock_sandbox {
  public:
    /// Its options.
    struct options {
        /// How many names in directories the patterns of a configuration may search.
        std::size_t most_searched = 1'000'000;
    };

    landlock_sandbox() = default;
    /// With the default configuration.
    explicit landlock_sandbox(options chosen) : options_(chosen) {}
    /// With a configuration of files.
    explicit landlock_sandbox(sandbox_config config) : config_(std::move(config)) {}
    /// With options, too.
    explicit landlock_sandbox(sandbox_config config, options chosen) : config_(std::move(config)), options_(chosen) {}

    /// The options that it was made with.
    [[nodiscard]] options const& get_options() const noexcept { return options_; }
    /// The configuration that it was made with.
    [[nodiscard]] sandbox_config const& config() const noexcept { return config_; }

    /**
     * \brief Sets `launch_spec::confinement`: the program starts as it is, and enters the domain right before it runs.
     * \details TMPDIR is set, variables that the configuration hides are taken out, and `working_dir` becomes the path
     * without symbolic links. `launch_spec::keeps` holds the private directory.
     * \par Errors errc::sandbox_unavailable — this system has no Landlock of ABI 6; the text says which it has.
     * errc::invalid_argument — nothing to start; a path is not absolute, is not there, or would open what sandboxes
     * close; something would have to be closed within a directory that is open; hosts are named. errc::io_error — a
     * directory cannot be searched, or the private one not be made
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

  private:
    sandbox_config config_;
    options options_;
};

static_assert(sandbox_policy<landlock_sandbox>);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/landlock_sandbox.ipp>
#endif
