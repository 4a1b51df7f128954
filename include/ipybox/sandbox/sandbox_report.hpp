#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/os/host_programs.hpp>

#include <memory>
#include <string>
#include <vector>

namespace ipybox {

class bubblewrap_sandbox;

/// The protection by each sandbox policy on a machine.
struct sandbox_report {
    /// The parts of this machine that sandboxes are made of.
    struct machine_parts {
        /// The kernel, its release, and the processor: "Linux 6.8.0-49-generic x86_64".
        std::string system = {};
        /// The version of `bwrap`; empty: there is none.
        std::string bubblewrap = {};
        /// The version of sandbox-runtime; empty: there is none.
        std::string srt = {};
        /// The ABI of Landlock; 0: there is none.
        int landlock = 0;
        /// Whether there are filters of system calls.
        bool seccomp_filters = false;
        /// Whether the user may divide its cgroup (v2), and so limit memory and processes of all that is below.
        bool delegated_cgroup = false;
        /// The controllers of cgroup v2 in the cgroup of this process: "cpu memory pids".
        std::string cgroup_controllers = {};
        /// The group to name as sandbox_limits::cgroup here, or the way to get one.
        std::string cgroup_advice = {};
        /// Whether the effective user is root.
        bool root = false;
        /// Whether this is a container of Docker, Podman or Kubernetes.
        bool container = false;
    };

    /// One of the things that a policy is there for.
    struct protection {
        /// The protected thing, for people.
        std::string what;
        /// The missing part and its cure; empty: it is enforced.
        std::string gap = {};

        /// Whether this machine can protect it.
        [[nodiscard]] bool enforced() const noexcept { return gap.empty(); }
    };

    /// The protection by a sandbox policy on a machine.
    struct policy_report {
        /// Its name: "bubblewrap", "srt", "landlock", "none".
        std::string policy;
        /// The reason why it does not work here at all, and the cure; empty: it works.
        std::string gap = {};
        /// The things that it is there for; empty if it does not work.
        std::vector<protection> protections = {};

        /// Whether it works, and nothing is missing.
        [[nodiscard]] bool whole() const noexcept;
    };

    /**
     * \brief Finds out what each sandbox policy can enforce on this machine.
     * \details Tries bubblewrap with all that bubblewrap_sandbox asks for, and with what srt asks of it; asks `bwrap`
     * and `srt` for their versions. That holds up the calling thread for about 50 ms, a second where `srt` is
     * installed, 20 s for each of the five at most.
     * \param bubblewrap the bubblewrap_sandbox that is wanted; its options count
     * \par Thread safety Safe.
     */
    [[nodiscard]] static sandbox_report make(bubblewrap_sandbox const& bubblewrap);

    /// The same for a host as it was at another moment. Its programs are not looked for where code can write.
    [[nodiscard]] static sandbox_report make(bubblewrap_sandbox const& bubblewrap,
                                             std::shared_ptr<os::host_programs const> host);

    /// The same for a bubblewrap_sandbox without options.
    [[nodiscard]] static sandbox_report make();

    /// The parts of this machine that sandboxes use.
    machine_parts machine;
    /// The reports of the policies, the strongest first.
    std::vector<policy_report> policies;

    /// For people: the machine, then each policy with its protections, and how to mend what is missing. Ends with a
    /// line break.
    [[nodiscard]] std::string text() const;
};

namespace detail {

/// The cgroup of a machine, as texts have it: "cpu memory pids, delegated to this user; name ../kernels".
[[nodiscard]] std::string cgroup_in_words(sandbox_report::machine_parts const& machine);

/// The protection by the policies on a machine on which bubblewrap and srt do not work for a reason; an empty one: it
/// works.
[[nodiscard]] sandbox_report sandbox_report_of(sandbox_report::machine_parts machine, std::string no_bubblewrap,
                                               std::string no_srt);

} // namespace detail
} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/sandbox_report.ipp>
#endif
