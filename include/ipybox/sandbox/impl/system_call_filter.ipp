#pragma once

#include <ipybox/sandbox/filter_blocks.hpp>
#include <ipybox/sandbox/system_call_filter.hpp>

#include <sys/utsname.h>

#include <algorithm>

namespace ipybox::detail {

IPYBOX_DECL result<std::string> system_call_filter(std::span<system_access const> allow, internet_sockets internet) {
    utsname system{};
    (void)::uname(&system);
    return system_call_filter(system.machine, allow, internet);
}

IPYBOX_DECL result<std::string> system_call_filter(std::string_view machine, std::span<system_access const> allow,
                                                   internet_sockets internet) {
    std::span<filter_block const> blocks;
    if (machine == "x86_64") blocks = filter_of_x86_64;
    if (machine == "aarch64") blocks = filter_of_aarch64;
    if (blocks.empty()) {
        return failure(errc::sandbox_unavailable, "there is no filter of system calls for the processor " +
                                                      std::string(machine) + ", only for x86_64 and aarch64");
    }
    auto const is_allowed = [&](filter_block const& block) {
        if (block.name == "no-internet") return internet == internet_sockets::open;
        return std::ranges::any_of(allow, [&](system_access access) { return access.name() == block.name; });
    };
    std::string bytes;
    for (auto const& block : blocks) {
        if (is_allowed(block)) continue;
        for (auto const& step : block.steps) bytes.append(reinterpret_cast<char const*>(&step), sizeof step);
    }
    return bytes;
}

} // namespace ipybox::detail
