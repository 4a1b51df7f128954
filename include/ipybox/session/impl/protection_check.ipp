#pragma once

#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/session/protection_check.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL std::vector<unprotected_file> unfulfilled(std::vector<protection_wish> const& wishes,
                                                      launch_spec const& confinement,
                                                      unprotected_file::protection cure) {
    std::vector<std::filesystem::path> wanted;
    wanted.reserve(wishes.size());
    for (auto const& wish : wishes) wanted.push_back(wish.path);
    auto best = confinement;
    best.read_only.insert(best.read_only.end(), wanted.begin(), wanted.end());
    auto const open = bubblewrap_sandbox::unprotected(confinement, wanted);
    auto const always_open = bubblewrap_sandbox::unprotected(best, wanted);
    auto const is_among = [](auto const& paths, auto const& path) {
        return std::ranges::find(paths, path) != paths.end();
    };
    std::vector<unprotected_file> found;
    for (auto const& wish : wishes) {
        if (!is_among(open, wish.path)) continue;
        auto const how = is_among(always_open, wish.path) ? unprotected_file::protection::other_directory : cure;
        found.push_back({wish.path, wish.server, how});
    }
    return found;
}

} // namespace ipybox::detail
