#pragma once

#include <ipybox/os/code_reach.hpp>
#include <ipybox/os/lies_in.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <system_error>
#include <utility>

namespace ipybox::os {
namespace detail {

using paths = std::vector<std::filesystem::path>;

/// On one way, as for the system.
inline constexpr int most_links = 40;

inline bool lies_in_any(std::filesystem::path const& path, paths const& folders) {
    return std::ranges::any_of(folders, [&](auto const& folder) { return lies_in(path, folder); });
}

/// The places that decide where a path leads, without links: the directory of each link on the way, and the end.
inline paths deciding_places(std::filesystem::path const& path) {
    paths places;
    std::filesystem::path here = "/";
    std::deque<std::filesystem::path> left(path.begin(), path.end());
    for (int links = 0; !left.empty() && links <= most_links;) {
        auto const name = std::move(left.front());
        left.pop_front();
        if (name.empty() || name == "." || name == "/") continue;
        if (name == "..") {
            here = here.parent_path();
            continue;
        }
        std::error_code no_link;
        auto const target = std::filesystem::read_symlink(here / name, no_link);
        if (no_link) {
            here /= name;
            continue;
        }
        ++links;
        places.push_back(here);
        if (target.is_absolute()) here = "/";
        left.insert(left.begin(), target.begin(), target.end());
    }
    places.push_back(std::move(here));
    return places;
}

inline bool belongs_to_user(std::filesystem::path const& path) {
    struct ::stat about{};
    if (::lstat(path.c_str(), &about) != 0) return true; // it has just gone
    return about.st_uid == ::geteuid() || ::access(path.c_str(), W_OK) == 0;
}

inline bool exists(std::filesystem::path const& path) {
    struct ::stat about{};
    return ::lstat(path.c_str(), &about) == 0;
}

inline paths without_links(paths const& given) {
    paths real;
    for (auto const& path : given) {
        std::error_code ignored;
        if (path.is_absolute())
            real.push_back(std::filesystem::weakly_canonical(path.has_filename() ? path : path.parent_path(), ignored));
    }
    std::ranges::sort(real);
    auto const doubled = std::ranges::unique(real);
    real.erase(doubled.begin(), doubled.end());
    return real;
}

} // namespace detail

IPYBOX_DECL code_reach::code_reach(std::vector<std::filesystem::path> const& writable,
                                   std::vector<std::filesystem::path> const& closed) {
    area made{detail::without_links(writable), {}};
    made.close(closed);
    if (!made.writable.empty()) areas_.push_back(std::move(made));
}

IPYBOX_DECL void code_reach::area::close(std::vector<std::filesystem::path> const& paths) {
    auto const is_above_writable = [this](auto const& path) {
        return std::ranges::any_of(writable, [&](auto const& open) { return lies_in(open, path); });
    };
    for (auto& path : detail::without_links(paths))
        if (!is_above_writable(path) && !detail::lies_in_any(path, closed)) closed.push_back(std::move(path));
}

IPYBOX_DECL void code_reach::close(std::vector<std::filesystem::path> const& paths) {
    for (auto& each : areas_) each.close(paths);
}

IPYBOX_DECL bool code_reach::add(code_reach const& others) {
    auto const before = areas_.size();
    for (auto const& other : others.areas_)
        if (std::ranges::find(areas_, other) == areas_.end()) areas_.push_back(other);
    return areas_.size() > before;
}

/// Its mode does not count, which its owner changes.
IPYBOX_DECL bool code_reach::area::holds(std::filesystem::path const& place, bool with_closed) const {
    auto const is_closed = [&](auto const& path) { return !with_closed && detail::lies_in_any(path, closed); };
    if (!detail::lies_in_any(place, writable) || is_closed(place)) return false;
    auto here = place;
    while (!detail::exists(here) && here.has_relative_path()) here = here.parent_path();
    if (!detail::lies_in_any(here, writable)) return true; // the writable directory itself is not there yet
    if (is_closed(here)) return false;
    for (; detail::lies_in_any(here, writable); here = here.parent_path()) {
        if (detail::belongs_to_user(here)) return true;
        if (!here.has_relative_path()) return false;
    }
    return false;
}

IPYBOX_DECL bool code_reach::any_holds(std::filesystem::path const& path, bool with_closed) const {
    if (areas_.empty()) return false;
    auto const places = detail::deciding_places(path);
    return std::ranges::any_of(areas_, [&](area const& each) {
        return std::ranges::any_of(places, [&](auto const& place) { return each.holds(place, with_closed); });
    });
}

} // namespace ipybox::os
