#pragma once

#include <ipybox/kernel/impl/supervisor_cgroups.hpp>
#include <ipybox/os/cgroup_delegation.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::detail {

/// The longest wait for killed processes when groups are removed.
inline constexpr auto cgroup_patience = std::chrono::milliseconds(1000);

IPYBOX_DECL supervisor_cgroups::supervisor_cgroups(sandbox_limits const& limits, std::filesystem::path hierarchy,
                                                   std::shared_ptr<os::cgroup const> all,
                                                   std::shared_ptr<os::cgroup const> supervisor)
    : limits_(limits), hierarchy_(std::move(hierarchy)), all_(std::move(all)), supervisor_(std::move(supervisor)) {}

IPYBOX_DECL result<std::shared_ptr<supervisor_cgroups>> supervisor_cgroups::make(sandbox_limits const& limits) {
    std::vector<std::string> controllers;
    if (limits.kernel_memory) controllers.emplace_back("memory");
    if (limits.processes) controllers.emplace_back("pids");
    auto const delegated = os::prepare_delegated_cgroup(limits.cgroup, controllers);
    if (!delegated) return failure(delegated.error());
    os::remove_stale_cgroups(*delegated, cgroup_patience);

    // A group that has processes gives no controllers to groups below it, so the supervisor is in one beside its
    // kernels.
    auto all = os::cgroup::make(*delegated / os::new_cgroup_name(), cgroup_patience);
    if (!all) return failure(all);
    std::string given;
    for (auto const& controller : controllers) given.append(given.empty() ? "+" : " +").append(controller);
    for (auto const& directory : {*delegated, (*all)->directory()})
        if (auto enabled = os::give_controllers(directory, given); !enabled) return failure(enabled);
    auto supervisor = os::cgroup::make((*all)->directory() / "supervisor", std::chrono::milliseconds(0));
    if (!supervisor) return failure(supervisor);
    return std::shared_ptr<supervisor_cgroups>(
        new supervisor_cgroups(limits, os::hierarchy_of(*delegated), std::move(*all), std::move(*supervisor)));
}

IPYBOX_DECL result<std::shared_ptr<os::cgroup const>> supervisor_cgroups::make_for_kernel() {
    auto made =
        os::cgroup::make(all_->directory() / ("kernel-" + std::to_string(++kernels_)), std::chrono::milliseconds(0));
    if (!made) return made;
    auto limited = result<void>();
    if (limits_.kernel_memory) limited = (*made)->limit_memory(*limits_.kernel_memory);
    if (limited && limits_.processes) limited = (*made)->limit_processes(*limits_.processes);
    if (!limited) return failure(limited);
    return made;
}

} // namespace ipybox::detail
