#pragma once

#include <ipybox/os/landlock.hpp>
#include <ipybox/os/landlock_calls.hpp>
#include <ipybox/os/open_without_links.hpp>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

namespace ipybox::os {
namespace detail {

inline std::uint64_t rights_of(file_access access) {
    using namespace landlock;
    constexpr auto making_devices = make_character_device | make_block_device;
    switch (access) {
    case file_access::read: return execute | read_files | read_directories;
    case file_access::write: return all_of_files & ~making_devices & ~control_device;
    case file_access::device: return read_files | write_files | truncate | control_device;
    }
    return 0;
}

inline error missing_landlock(int abi) {
    auto const needed = std::to_string(landlock_abi_with_scopes);
    auto const there = abi == 0
                           ? std::string("this system has none (it came with Linux 5.13, and needs landlock in the "
                                         "list of `lsm=` that Linux is booted with)")
                           : "this system has ABI " + std::to_string(abi);
    return error(errc::sandbox_unavailable, "Landlock of ABI " + needed +
                                                " is needed, whose domains keep signals in, and " + there +
                                                "; run on Linux 6.12 or newer, or use bubblewrap_sandbox");
}

} // namespace detail

IPYBOX_DECL int landlock_abi() noexcept {
    return static_cast<int>(std::max(::syscall(landlock::create_ruleset, nullptr, 0, landlock::ask_for_version), 0L));
}

IPYBOX_DECL result<landlock_rules> landlock_rules::make() {
    if (auto const abi = landlock_abi(); abi < landlock_abi_with_scopes) return failure(detail::missing_landlock(abi));
    landlock::ruleset_attributes const handled{landlock::all_of_files, landlock::all_ports, landlock::all_scopes};
    unique_fd rules(static_cast<int>(::syscall(landlock::create_ruleset, &handled, sizeof handled, 0)));
    if (!rules) return failure(ipybox::detail::system_failure("making rules of Landlock", errno));
    return landlock_rules(std::move(rules));
}

IPYBOX_DECL result<void> landlock_rules::grant(std::filesystem::path const& path, file_access access) {
    auto const file = open_without_links(path);
    struct ::stat about{};
    if (!file || ::fstat(file.get(), &about) != 0)
        return failure(ipybox::detail::system_failure("granting " + path.string(), errno));
    auto const possible = S_ISDIR(about.st_mode) ? landlock::all_of_files : landlock::for_files;
    landlock::path_beneath_attributes const rule{detail::rights_of(access) & possible, file.get()};
    if (::syscall(landlock::add_rule, descriptor_.get(), landlock::path_beneath, &rule, 0) != 0)
        return failure(ipybox::detail::system_failure("granting " + path.string(), errno));
    return {};
}

} // namespace ipybox::os
