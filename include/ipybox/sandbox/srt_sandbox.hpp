#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>
#include <ipybox/sandbox/sandbox_policy.hpp>

#include <cstddef>
#include <filesystem>
#include <utility>
#include <variant>

namespace ipybox {

/**
 * \brief Runs the kernel under Anthropic's sandbox-runtime (`srt`, 0.0.83 or newer), which the user has installed.
 * \details srt builds its own sandbox of bubblewrap, socat and filters of its own, and lets code reach the hosts of
 * `allowedDomains` through its proxies. Its network is as strict as it comes: the kernel talks to the host over a
 * descriptor that is handed in. docs/sandbox.md, section 9, lists the gaps of srt; bubblewrap_sandbox closes more,
 * starts faster and takes less memory.
 *
 * srt gets the configuration, and with it what a launch needs: `launch_spec::writable` is writable, `read_only`,
 * `readable` and the files that other programs take commands from are read-only, `hidden` cannot be read. A directory
 * of its own, with everything in it, is the code's TMPDIR while the sandbox lives. srt reads its settings from a
 * descriptor: there is no file that code could change.
 *
 * srt and what it starts are looked for on the PATH of this process, without the directories that code can change.
 * \par Thread safety Safe, shared objects too.
 */
class srt_sandbox {
  public:
    /// Its options.
    struct options {
        /// The `srt` program; empty: the one on PATH.
        std::filesystem::path program = {};

        /// How many names in directories the patterns of a configuration may search.
        std::size_t most_searched = 1'000'000;
    };

    srt_sandbox() = default;
    /// With the default configuration.
    explicit srt_sandbox(options chosen) : options_(std::move(chosen)) {}
    /// With a configuration of files and hosts.
    explicit srt_sandbox(sandbox_config config) : settings_(std::move(config)) {}
    /// With options, too.
    explicit srt_sandbox(sandbox_config config, options chosen)
        : settings_(std::move(config)), options_(std::move(chosen)) {}

    /// With the settings of a file of srt's. All of its keys are passed on as they are, also those that sandbox_config
    /// does not know.
    explicit srt_sandbox(std::filesystem::path settings_file) : settings_(std::move(settings_file)) {}
    /// With options, too.
    explicit srt_sandbox(std::filesystem::path settings_file, options chosen)
        : settings_(std::move(settings_file)), options_(std::move(chosen)) {}

    /// The options that it was made with.
    [[nodiscard]] options const& get_options() const noexcept { return options_; }

    /**
     * \brief Puts `srt`, with the shells around and inside it, before the program's arguments.
     * \details The first call in a process tries what is needed, which holds up the calling thread for about half a
     * second, 10 s at most. The control descriptor becomes 1. `working_dir` becomes the path without symbolic links.
     * `launch_spec::keeps` holds placeholders, as those of bubblewrap_sandbox, and the private directory.
     * \par Errors errc::sandbox_unavailable — srt, its version, or a program that it needs; the text says what to
     * install. errc::invalid_argument — nothing to start; a path is not absolute, is not there, or would open what
     * sandboxes close; the configuration cannot be enforced; the control descriptor is not one of 3 to 9.
     * errc::io_error — the settings file cannot be read, a directory not be searched, a placeholder not be made
     */
    [[nodiscard]] result<launch_spec> wrap(launch_spec spec) const;

    /**
     * \brief The meaning of the configuration on this machine, now, for a working directory.
     * \par Errors those of `wrap`, but for errc::sandbox_unavailable: nothing is tried; also errc::invalid_argument for
     * a settings file with keys that sandbox_config does not know
     */
    [[nodiscard]] result<sandbox_config::description> describe(std::filesystem::path const& working_dir) const;

    /// The places that code in it can change, for launches in a working directory, on a host whose home directory `~`
    /// is
    [[nodiscard]] os::code_reach reach(std::filesystem::path const& working_dir,
                                       os::host_environment const& host) const;

  private:
    std::variant<sandbox_config, std::filesystem::path> settings_;
    options options_;
};

static_assert(sandbox_policy<srt_sandbox>);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/srt_sandbox.ipp>
#endif
