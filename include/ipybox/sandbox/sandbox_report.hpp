#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <string>
#include <vector>

namespace ipybox {

/// What this machine has of what sandboxes are made of.
struct sandbox_machine {
    std::string system = {};      ///< kernel, its release, and processor: "Linux 6.8.0-49-generic x86_64"
    std::string bubblewrap = {};  ///< version of `bwrap`; empty: there is none
    std::string srt = {};         ///< version of sandbox-runtime; empty: there is none
    int landlock = 0;             ///< ABI of Landlock; 0: there is none
    bool seccomp_filters = false; ///< filters of system calls
    bool delegated_cgroup =
        false;         ///< the user may divide its cgroup (v2), and so limit memory and processes of all that is below
    bool root = false; ///< the effective user is root
    bool container = false; ///< Docker, Podman or Kubernetes
};

/// One of the things that a policy is there for.
struct sandbox_protection {
    std::string what;
    std::string gap = {}; ///< what is missing for it here, and what mends that; empty: it is enforced

    [[nodiscard]] bool enforced() const noexcept { return gap.empty(); }
};

/// What a sandbox policy can enforce on a machine.
struct sandbox_policy_report {
    std::string policy;   ///< "bubblewrap", "srt", "landlock", "none"
    std::string gap = {}; ///< why it does not work here at all, and what mends that; empty: it works
    std::vector<sandbox_protection> protections = {}; ///< of one that works

    /// It works, and nothing is missing.
    [[nodiscard]] bool whole() const noexcept;
};

/// What each sandbox policy can enforce on a machine.
struct sandbox_report {
    sandbox_machine machine;
    std::vector<sandbox_policy_report> policies; ///< the strongest first

    /// For people: the machine, then each policy with its protections, and how to mend what is missing. Ends with a line break.
    [[nodiscard]] std::string text() const;
};

/**
 * \brief Finds out what each sandbox policy can enforce on this machine.
 * \details Tries bubblewrap with all that bubblewrap_sandbox asks for, and with what srt asks of it; asks `bwrap` and `srt` for their versions. That
 * holds up the calling thread for about 50 ms, a second where `srt` is installed, 20 s for each of the five at most.
 * \param options those of the bubblewrap_sandbox that is wanted
 * \par Thread safety Safe.
 */
[[nodiscard]] sandbox_report report_sandboxes(bubblewrap_options const& options = {});

namespace detail {

/// What the policies can enforce on a machine, where bubblewrap and srt do not work for a reason; an empty one: it works.
[[nodiscard]] sandbox_report sandbox_report_of(sandbox_machine machine, std::string no_bubblewrap, std::string no_srt);

} // namespace detail
} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/sandbox_report.ipp>
#endif
