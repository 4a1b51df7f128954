#pragma once

#include <ipybox/os/cgroup_delegation.hpp>
#include <ipybox/os/landlock.hpp>
#include <ipybox/os/process.hpp>
#include <ipybox/os/program_output.hpp>
#include <ipybox/sandbox/best_sandbox.hpp>
#include <ipybox/sandbox/bubblewrap_preflight.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/sandbox_report.hpp>
#include <ipybox/sandbox/srt_preflight.hpp>

#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox {
namespace detail {

inline std::string system_name() {
    utsname names{};
    if (::uname(&names) != 0) return "unknown";
    return std::string(names.sysname) + ' ' + names.release + ' ' + names.machine;
}

/// The last word of the first line that a program says to `--version`; empty where there is no such program.
IPYBOX_DECL std::string version_of(std::filesystem::path const& program, os::host_programs const& host) {
    if (program.empty()) return {};
    launch_spec spec{{program.string(), "--version"}, {{"PATH", host.search_path()}}, "/"}; // srt starts Node
    auto const said = os::program_output(spec, longest_trial);
    if (!said) return "of unknown version";
    std::string const line = said->substr(0, said->find('\n'));
    return line.substr(line.find_last_of(' ') + 1);
}

inline bool has_seccomp_filters() {
    unsigned const action = SECCOMP_RET_ERRNO;
    return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

inline sandbox_report::machine_parts this_machine(bubblewrap_sandbox::options const& options,
                                                  os::host_programs const& programs) {
    auto const host = this_sandbox_host(programs.environment());
    auto cgroup = os::find_cgroup_support();
    return {.system = system_name(),
            .bubblewrap =
                version_of(find_bubblewrap(options.program, programs).value_or(std::filesystem::path()), programs),
            .srt = version_of(programs.find_tool("srt"), programs),
            .landlock = os::landlock_abi(),
            .seccomp_filters = has_seccomp_filters(),
            .delegated_cgroup = cgroup.delegated,
            .cgroup_controllers = std::move(cgroup.controllers),
            .cgroup_advice = std::move(cgroup.advice),
            .root = host.root,
            .container = host.container};
}

/// Why code cannot be kept from going around approvals; empty: it can be.
inline std::string gap_of_the_guard(sandbox_report::machine_parts const& machine) {
    if (!machine.seccomp_filters) return "needs filters of system calls: a Linux with CONFIG_SECCOMP_FILTER";
    if (machine.landlock == 0)
        return "needs Landlock: Linux 5.13 or newer, with landlock in the list of `lsm=` that it is booted with";
    if (!machine.system.ends_with("x86_64") && !machine.system.ends_with("aarch64"))
        return "is written for x86_64 and aarch64 only";
    return {};
}

inline std::string gap_of_signals(sandbox_report::machine_parts const& machine) {
    return machine.landlock >= os::landlock_abi_with_scopes ? "" : "needs Linux 6.12 or newer (Landlock ABI 6)";
}

constexpr auto guarded_approvals = "approvals: code cannot start programs by itself (require_shell_escape)";

inline sandbox_report::policy_report bubblewrap_report(sandbox_report::machine_parts const& machine, std::string gap) {
    if (!gap.empty()) return {.policy = "bubblewrap", .gap = std::move(gap)};
    return {.policy = "bubblewrap",
            .protections = {{"files: nothing is written but what is writable"},
                            {"network: none but a loopback of its own"},
                            {"services: no Unix sockets of the host"},
                            {"processes: none but its own are seen or signalled"},
                            {"end: no process outlives the host"},
                            {guarded_approvals, gap_of_the_guard(machine)}}};
}

/// As root, the code has all capabilities in a user namespace that srt makes for it, and the files in /proc that only
/// ask for the user.
inline std::string gap_of_root_in_srt(sandbox_report::machine_parts const& machine) {
    return machine.root ? "srt leaves code of root its capabilities within the sandbox; run as another user, or choose "
                          "bubblewrap"
                        : "";
}

inline sandbox_report::policy_report srt_report(sandbox_report::machine_parts const& machine, std::string gap) {
    if (!gap.empty()) return {.policy = "srt", .gap = std::move(gap)};
    return {.policy = "srt",
            .protections = {{"files: nothing is written but what is writable", gap_of_root_in_srt(machine)},
                            {"network: none but the hosts of the configuration"},
                            {"services: no Unix sockets of the host"},
                            {"processes: none but its own are signalled", gap_of_signals(machine)},
                            {"end: no process outlives the host"},
                            {guarded_approvals, gap_of_the_guard(machine)}}};
}

/// Why landlock_sandbox does not work; empty: it does.
inline std::string gap_of_landlock(sandbox_report::machine_parts const& machine) {
    if (auto gap = gap_of_signals(machine); !gap.empty()) return gap;
    return gap_of_the_guard(machine); // which needs the same filters
}

inline sandbox_report::policy_report landlock_report(sandbox_report::machine_parts const& machine) {
    if (auto gap = gap_of_landlock(machine); !gap.empty()) return {.policy = "landlock", .gap = std::move(gap)};
    auto const* const other = "choose bubblewrap";
    return {.policy = "landlock",
            .protections = {{"files: nothing is written but what is writable"},
                            {"files: modes and times of the user's other files are left as they are", other},
                            {"network: none"},
                            {"services: no Unix sockets of the host"},
                            {"processes: none but its own are signalled"},
                            {"processes: none but its own are seen", other},
                            {"end: no process outlives the host", "commands can hinder that; choose bubblewrap"},
                            {guarded_approvals, gap_of_the_guard(machine)}}};
}

inline sandbox_report::policy_report none_report(sandbox_report::machine_parts const& machine) {
    auto const* const other = "choose bubblewrap";
    return {.policy = "none",
            .protections = {{"files: nothing is written but what is writable", other},
                            {"network: none but a loopback of its own", other},
                            {"processes: none but its own are signalled", gap_of_signals(machine)},
                            {guarded_approvals, gap_of_the_guard(machine)}}};
}

IPYBOX_DECL sandbox_report sandbox_report_of(sandbox_report::machine_parts machine, std::string no_bubblewrap,
                                             std::string no_srt) {
    std::vector policies{bubblewrap_report(machine, std::move(no_bubblewrap)), srt_report(machine, std::move(no_srt)),
                         landlock_report(machine), none_report(machine)};
    return {std::move(machine), std::move(policies)};
}

IPYBOX_DECL std::string cgroup_in_words(sandbox_report::machine_parts const& machine) {
    auto text = machine.cgroup_controllers.empty() ? std::string("no controllers") : machine.cgroup_controllers;
    text += machine.delegated_cgroup ? ", delegated to this user" : ", not delegated to this user";
    return machine.cgroup_advice.empty() ? text : text + "; " + machine.cgroup_advice;
}

/// The obstacle for srt_sandbox here; empty: nothing.
inline std::string why_no_srt(os::host_programs const& host) {
    auto const srt = find_srt({}, host);
    if (!srt) return srt.error().text();
    auto const works = srt_preflight(*srt, {}, host);
    return works ? "" : works.error().text();
}

} // namespace detail

IPYBOX_DECL bool sandbox_report::policy_report::whole() const noexcept {
    return gap.empty() && std::ranges::all_of(protections, &sandbox_report::protection::enforced);
}

IPYBOX_DECL std::string sandbox_report::text() const {
    std::string text =
        machine.system + (machine.root ? ", as root" : "") + (machine.container ? ", in a container\n" : "\n");
    auto const line = [&text](std::initializer_list<std::string_view> parts) {
        for (auto const part : parts) text += part;
        text += '\n';
    };
    line({"  bubblewrap  ", machine.bubblewrap.empty() ? "not installed" : machine.bubblewrap});
    line({"  srt         ", machine.srt.empty() ? "not installed" : machine.srt});
    line({"  Landlock    ", machine.landlock == 0 ? "none" : "ABI " + std::to_string(machine.landlock)});
    line({"  seccomp     ", machine.seccomp_filters ? "filters" : "none"});
    line({"  cgroup v2   ", detail::cgroup_in_words(machine)});
    for (auto const& report : policies) {
        line({report.policy, report.gap.empty() ? ":" : ": does not work here: ", report.gap});
        for (auto const& each : report.protections)
            line({each.enforced() ? "  yes  " : "  no   ", each.what, each.enforced() ? "" : "; " + each.gap});
    }
    return text;
}

IPYBOX_DECL sandbox_report sandbox_report::make() { return make(bubblewrap_sandbox()); }

IPYBOX_DECL sandbox_report sandbox_report::make(bubblewrap_sandbox const& bubblewrap) {
    auto host = os::host_programs::now();
    host->add_reach(os::code_reach({host->environment().directory()}));
    return make(bubblewrap, std::move(host));
}

IPYBOX_DECL sandbox_report sandbox_report::make(bubblewrap_sandbox const& bubblewrap,
                                                std::shared_ptr<os::host_programs const> host) {
    auto const& options = bubblewrap.get_options();
    auto no_bubblewrap = detail::why_no_bubblewrap(options, host);
    return detail::sandbox_report_of(detail::this_machine(options, *host), std::move(no_bubblewrap),
                                     detail::why_no_srt(*host));
}

} // namespace ipybox
