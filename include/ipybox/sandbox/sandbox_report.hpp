#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>

#include <string>
#include <vector>

namespace ipybox {

struct bubblewrap_options;

/// The parts of this machine that sandboxes are made of.
struct sandbox_machine {
    std::string system = {};      ///< kernel, its release, and processor: "Linux 6.8.0-49-generic x86_64"
    std::string bubblewrap = {};  ///< version of `bwrap`; empty: there is none
    std::string srt = {};         ///< version of sandbox-runtime; empty: there is none
    int landlock = 0;             ///< ABI of Landlock; 0: there is none
    bool seccomp_filters = false; ///< filters of system calls
    bool delegated_cgroup =
        false; ///< the user may divide its cgroup (v2), and so limit memory and processes of all that is below
    std::string cgroup_controllers = {}; ///< of cgroup v2, those of the cgroup of this process: "cpu memory pids"
    std::string cgroup_advice = {}; ///< what to name as sandbox_limits::cgroup here, or what mends that there is none
    bool root = false;              ///< the effective user is root
    bool container = false;         ///< Docker, Podman or Kubernetes
};

/// One of the things that a policy is there for.
struct sandbox_protection {
    /// The protected thing, for people.
    std::string what;
    std::string gap = {}; ///< what is missing for it here, and what mends that; empty: it is enforced

    /// Whether this machine can protect it.
    [[nodiscard]] bool enforced() const noexcept { return gap.empty(); }
};

/// The protection by a sandbox policy on a machine.
struct sandbox_policy_report {
    std::string policy;   ///< "bubblewrap", "srt", "landlock", "none"
    std::string gap = {}; ///< why it does not work here at all, and what mends that; empty: it works
    std::vector<sandbox_protection> protections = {}; ///< of one that works

    /// It works, and nothing is missing.
    [[nodiscard]] bool whole() const noexcept;
};

/// The protection by each sandbox policy on a machine.
struct sandbox_report {
    /// The parts of this machine that sandboxes use.
    sandbox_machine machine;
    std::vector<sandbox_policy_report> policies; ///< the strongest first

    /// For people: the machine, then each policy with its protections, and how to mend what is missing. Ends with a
    /// line break.
    [[nodiscard]] std::string text() const;
};

/**
 * \brief Finds out what each sandbox policy can enforce on this machine.
 * \details Tries bubblewrap with all that bubblewrap_sandbox asks for, and with what srt asks of it; asks `bwrap` and
 * `srt` for their versions. That holds up the calling thread for about 50 ms, a second where `srt` is installed, 20 s
 * for each of the five at most.
 * \param options those of the bubblewrap_sandbox that is wanted
 * \par Thread safety Safe.
 */
[[nodiscard]] sandbox_report report_sandboxes(bubblewrap_options const& options);

/// The same for a bubblewrap_sandbox without options.
[[nodiscard]] sandbox_report report_sandboxes();

namespace detail {

/// The cgroup of a machine, as texts have it: "cpu memory pids, delegated to this user; name ../kernels".
[[nodiscard]] std::string cgroup_in_words(sandbox_machine const& machine);

/// The protection by the policies on a machine on which bubblewrap and srt do not work for a reason; an empty one: it
/// works.
[[nodiscard]] sandbox_report sandbox_report_of(sandbox_machine machine, std::string no_bubblewrap, std::string no_srt);

} // namespace detail
} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/sandbox_report.ipp>
#endif
