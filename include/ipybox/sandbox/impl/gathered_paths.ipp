#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/os/lies_in.hpp>
#include <ipybox/sandbox/gathered_paths.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace ipybox::detail {

/// Paths below one entry of a root.
struct paths_of_entry {
    path_to_close entry; ///< directly in the root
    std::vector<path_to_close> paths;
    std::size_t mounts = 0; ///< of the paths, and pins
    bool can_be_whole = true;
};

/// The first name below the root.
inline std::filesystem::path entry_above(path_to_close const& found) {
    auto const below = found.path.lexically_relative(found.root);
    return found.path == found.root ? found.path : found.root / *below.begin();
}

inline std::vector<paths_of_entry> by_entry(std::vector<path_to_close> found,
                                            std::vector<std::filesystem::path> const& kept) {
    using key = std::pair<std::filesystem::path, path_to_close::right>;
    std::map<key, paths_of_entry> groups;
    std::map<key, std::set<std::filesystem::path>> pins;
    for (auto& path : found) {
        auto const entry = entry_above(path);
        key const at{entry, path.closed};
        auto& group = groups[at];
        group.entry = {entry, path.root, path.closed};
        group.mounts += path.mounts;
        for (auto folder = path.path.parent_path(); os::lies_in(folder, entry); folder = folder.parent_path())
            if (!pins[at].insert(folder).second) break;
        group.paths.push_back(std::move(path));
    }
    std::vector<paths_of_entry> all;
    for (auto& [at, group] : groups) {
        group.mounts += pins[at].size();
        group.can_be_whole = std::ranges::none_of(kept, [&](auto const& k) { return os::lies_in(k, at.first); });
        all.push_back(std::move(group));
    }
    return all;
}

/// When a file was made, in nanoseconds; code cannot set it. 0: the file system does not say.
inline std::int64_t made_at(std::filesystem::path const& path) {
    struct ::statx status{};
    if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME, &status) != 0) return 0;
    return status.stx_btime.tv_sec * 1'000'000'000 + status.stx_btime.tv_nsec;
}

struct aged_path {
    std::int64_t age;
    bool is_whole;
    path_to_close path;
};

/// Pins that several paths share count for each.
inline std::size_t mounts_alone(path_to_close const& path) {
    auto const below = path.path.lexically_relative(path.root);
    auto const names = static_cast<std::size_t>(std::distance(below.begin(), below.end()));
    return path.mounts + (names > 0 ? names - 1 : 0);
}

IPYBOX_DECL gathered_paths gather_paths(std::vector<path_to_close> found,
                                        std::vector<std::filesystem::path> const& kept, std::size_t most_mounts,
                                        whole_directories whole) {
    auto groups = by_entry(std::move(found), kept);
    std::size_t mounts = 0;
    for (auto const& group : groups) mounts += group.mounts;
    gathered_paths gathered;
    std::ranges::sort(groups, std::greater<>(), &paths_of_entry::mounts);
    std::vector<path_to_close> rest;
    for (auto& group : groups) {
        if (mounts > most_mounts && whole == whole_directories::closed && group.can_be_whole && group.mounts > 1) {
            mounts -= group.mounts - 1;
            gathered.whole.push_back(std::move(group.entry));
        } else {
            std::ranges::move(group.paths, std::back_inserter(rest));
        }
    }
    if (mounts <= most_mounts) {
        gathered.single = std::move(rest);
        return gathered;
    }

    std::vector<aged_path> by_age;
    for (auto& path : rest) by_age.push_back({made_at(path.path), false, std::move(path)});
    for (auto& path : gathered.whole) by_age.push_back({made_at(path.path), true, std::move(path)});
    gathered.whole.clear();
    std::ranges::sort(by_age, [](auto const& a, auto const& b) {
        return std::tie(a.age, a.path.path) < std::tie(b.age, b.path.path);
    });
    std::size_t taken = 0;
    for (auto& [age, is_whole, path] : by_age) {
        auto const needed = is_whole ? 1 : mounts_alone(path);
        bool const fits = taken + needed <= most_mounts;
        if (fits) taken += needed;
        auto& to = !fits ? gathered.left_out : is_whole ? gathered.whole : gathered.single;
        to.push_back(std::move(path));
    }
    return gathered;
}

IPYBOX_DECL std::vector<std::string> notices_of(gathered_paths const& gathered) {
    std::vector<std::string> notices;
    auto const* const cure = "; remove some, or choose another working directory";
    for (auto const& each : gathered.whole)
        notices.push_back(each.path.string() +
                          (each.closed == path_to_close::right::read
                               ? " cannot be read: more files of denyRead lie in it than can be closed one by one"
                               : " is read-only: more files that other programs take commands from lie in it than can "
                                 "be closed one by one") +
                          cure);
    if (auto const& open = gathered.left_out; !open.empty())
        notices.push_back(std::to_string(open.size()) +
                          " files stay open, as no more can be closed, the first one is " + open.front().path.string() +
                          cure);
    return notices;
}

} // namespace ipybox::detail
