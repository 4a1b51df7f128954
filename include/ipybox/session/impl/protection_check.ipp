#pragma once

#include <ipybox/session/protection_check.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL os::code_reach reach_in(os::code_reach reach, launch_spec const& confinement) {
    for (auto const* closed : {&confinement.read_only, &confinement.hidden, &confinement.readable})
        reach.close(*closed);
    return reach;
}

IPYBOX_DECL std::vector<unprotected_file> unfulfilled(std::vector<protection_wish> const& wishes, os::code_reach reach,
                                                      launch_spec const& confinement,
                                                      unprotected_file::protection cure) {
    std::vector<std::filesystem::path> wanted;
    wanted.reserve(wishes.size());
    for (auto const& wish : wishes) wanted.push_back(wish.path);
    auto const now = reach_in(std::move(reach), confinement);
    auto best = now;
    best.close(wanted);
    std::vector<unprotected_file> found;
    for (auto const& wish : wishes) {
        bool const is_told = std::ranges::any_of(
            found, [&](auto const& file) { return file.path == wish.path && file.server == wish.server; });
        if (is_told || !now.can_change(wish.path)) continue;
        auto const how = best.can_change(wish.path) ? unprotected_file::protection::other_directory : cure;
        found.push_back({wish.path, wish.server, how});
    }
    return found;
}

} // namespace ipybox::detail
