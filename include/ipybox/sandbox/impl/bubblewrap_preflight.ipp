#pragma once

#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/os/held_forks.hpp>
#include <ipybox/os/process.hpp>
#include <ipybox/os/program_output.hpp>
#include <ipybox/os/read_file.hpp>
#include <ipybox/sandbox/bubblewrap_preflight.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

namespace ipybox {
namespace detail {

/// True when the file can be read and its first line is `value`.
inline bool setting_is(char const* file, std::string_view value) {
    constexpr std::size_t longest = 4096;
    auto const text = os::read_file(file, file, longest);
    return text && std::string_view(*text).substr(0, text->find('\n')) == value;
}

IPYBOX_DECL sandbox_host this_sandbox_host() {
    sandbox_host host;
    host.apparmor_restricts = setting_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1");
    host.clone_disabled = setting_is("/proc/sys/kernel/unprivileged_userns_clone", "0");
    host.limit_zero = setting_is("/proc/sys/user/max_user_namespaces", "0");
    host.container = ::access("/.dockerenv", F_OK) == 0 || ::access("/run/.containerenv", F_OK) == 0 ||
                     std::getenv("KUBERNETES_SERVICE_HOST") != nullptr;
    host.root = ::geteuid() == 0;
    return host;
}

IPYBOX_DECL error sandbox_unavailable(std::string text) {
    return error(errc::sandbox_unavailable,
                 std::move(text) +
                     ". To go without a sandbox, choose none by name (--sandbox none, or no_sandbox in a program).");
}

IPYBOX_DECL bool is_shortage(std::error_code cause) {
    static constexpr std::errc shortages[] = {std::errc::file_too_large, std::errc::too_many_files_open,
                                              std::errc::too_many_files_open_in_system, std::errc::not_enough_memory,
                                              std::errc::resource_unavailable_try_again};
    return std::ranges::any_of(shortages, [cause](std::errc which) { return cause == which; });
}

IPYBOX_DECL result<std::filesystem::path> find_bubblewrap(std::filesystem::path const& wanted) {
    if (!wanted.empty()) {
        if (!wanted.is_absolute())
            return failure(errc::invalid_argument, "the bwrap program " + wanted.string() + " is not an absolute path");
        if (!os::find_program(wanted.string()).empty()) return wanted;
        return failure(
            sandbox_unavailable("the bwrap program " + wanted.string() + " is not there or cannot be executed"));
    }

    if (auto found = os::find_program("bwrap"); !found.empty()) return found;
    return failure(sandbox_unavailable(
        "bubblewrap is not installed: there is no bwrap on PATH. Install it: apt-get install bubblewrap "
        "(Fedora: dnf install bubblewrap; Arch: pacman -S bubblewrap)"));
}

IPYBOX_DECL error bubblewrap_unavailable(std::string_view said, sandbox_host const& host) {
    auto const mentions = [said](auto... words) { return ((said.find(words) != std::string_view::npos) || ...); };
    auto const why = [&]() -> std::string_view {
        if (mentions("Unknown option")) return "the installed bubblewrap is too old; install version 0.8 or newer";
        if (mentions("setuid mode")) {
            return "bwrap is installed setuid root, which does not allow what is needed; remove the bit: sudo chmod "
                   "u-s \"$(command -v bwrap)\"";
        }
        if (mentions("SECCOMP")) {
            return "this Linux, or the container around, takes no seccomp filter; use a kernel with "
                   "CONFIG_SECCOMP_FILTER";
        }
        if (mentions("mount proc")) {
            return "a fresh /proc cannot be mounted here, as this is a container or another sandbox that masks /proc; "
                   "run outside of it, or give the "
                   "container an unmasked /proc (Docker: --security-opt systempaths=unconfined; Kubernetes: procMount: "
                   "Unmasked)";
        }
        if (!host.root && host.apparmor_restricts) {
            return "AppArmor keeps ordinary users from user namespaces (Ubuntu 23.10 and newer); permit them: sudo "
                   "sysctl -w "
                   "kernel.apparmor_restrict_unprivileged_userns=0, or install an AppArmor profile for bwrap with the "
                   "rule \"userns,\"";
        }
        if (!host.root && host.clone_disabled) {
            return "the kernel does not permit user namespaces to ordinary users; permit them: sudo sysctl -w "
                   "kernel.unprivileged_userns_clone=1";
        }
        if (host.limit_zero)
            return "user namespaces are switched off; switch them on: sudo sysctl -w user.max_user_namespaces=28633";
        if (mentions("ENOSPC", "No space left")) {
            return "no further user namespace can be made, as this process itself runs in a sandbox that forbids "
                   "nesting; run outside of it";
        }
        if (host.container && mentions("namespace", "Permission denied", "Operation not permitted")) {
            return "the container does not permit user namespaces and mounts; start it with, for Docker: "
                   "--security-opt seccomp=unconfined "
                   "--security-opt apparmor=unconfined --security-opt systempaths=unconfined";
        }
        if (host.root && mentions("uid map")) {
            return "root lacks the capability CAP_SETFCAP here; add it (Docker: --cap-add SETFCAP) or run as an "
                   "ordinary user";
        }
        if (mentions("namespace"))
            return "the kernel does not permit user namespaces; permit them: sudo sysctl -w "
                   "user.max_user_namespaces=28633";
        return "bubblewrap does not work here";
    }();

    auto const last = said.find_last_not_of(" \n");
    said = said.substr(0, last == std::string_view::npos ? 0 : last + 1);
    return sandbox_unavailable(
        std::string(why).append(" (").append(said.empty() ? "it said nothing" : said).append(")"));
}

/// Proof is what the program inside says, not an exit status: an application that ignores SIGCHLD gets none.
inline result<void> try_bubblewrap(std::filesystem::path const& program, std::vector<std::string> const& flags,
                                   std::string const& filter, std::chrono::milliseconds bound) {
    constexpr std::string_view proof = "ipybox: the sandbox works\n";
    std::vector<std::string> command{program.string()};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"--seccomp", "3"});
    // Here the parent's thread waits, so that its death is indeed the end.
    command.insert(command.end(),
                   {"--die-with-parent", "--chdir", "/", "--", "/bin/sh", "-c", "echo 'ipybox: the sandbox works'"});
    // Messages are compared with English ones.
    launch_spec spec{command, {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"LC_ALL", "C"}}, "/"};
    spec.inputs.emplace(3, filter);
    auto said = os::program_output(spec, bound);
    if (!said && is_shortage(said.error().cause())) return failure(said.error());
    if (!said) return failure(sandbox_unavailable("bubblewrap does not work here: " + said.error().text()));
    if (said->ends_with(proof)) return {};
    return failure(bubblewrap_unavailable(*said, this_sandbox_host()));
}

IPYBOX_DECL result<std::vector<std::string>> bubblewrap_preflight(std::filesystem::path const& program,
                                                                  std::vector<std::string> flags,
                                                                  std::string const& filter,
                                                                  std::chrono::milliseconds bound) {
    static auto& remembered = never_destroyed<std::map<std::vector<std::string>, std::vector<std::string>>>();
    std::vector<std::string> key{program.string()};
    key.insert(key.end(), flags.begin(), flags.end());
    key.push_back(filter);

    {
        os::held_forks const lock;
        if (auto const known = remembered.find(key); known != remembered.end()) return known->second;
    }
    auto works = try_bubblewrap(program, flags, filter, bound);
    if (!works && works.error().text().find("Unknown option --disable-userns") != std::string::npos) {
        std::erase(flags, "--disable-userns");
        works = try_bubblewrap(program, flags, filter, bound);
    }
    if (!works) return failure(works);
    os::held_forks const lock;
    remembered.emplace(std::move(key), flags);
    return flags;
}

} // namespace detail
} // namespace ipybox
