#pragma once

#include <ipybox/os/cgroup_delegation.hpp>
#include <ipybox/os/lies_in.hpp>
#include <ipybox/os/read_file.hpp>
#include <ipybox/os/unique_fd.hpp>
#include <ipybox/os/write_all.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace ipybox::os {
namespace detail {

inline constexpr auto way_to_a_delegated_cgroup =
    "start the application in a group of a delegated one, and name another group there, as docs/sandbox.md 6 shows: "
    "systemd-run --user --pipe -p Delegate=yes -p DelegateSubgroup=app PROGRAM, with the cgroup ../kernels";

inline constexpr auto way_to_version_2 =
    "boot with systemd.unified_cgroup_hierarchy=1, or let the watchdog count memory and processes by leaving "
    "the limit `cgroup` empty";

inline std::string first_bytes(std::filesystem::path const& file) {
    constexpr std::size_t longest = 65536;
    return read_file(file, file.string(), longest).value_or("");
}

inline std::vector<std::string> words_of(std::string const& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(std::move(word));
    return words;
}

inline bool may_write(std::filesystem::path const& path) { return ::access(path.c_str(), W_OK) == 0; }

inline error unusable(std::filesystem::path const& group, std::string const& why) {
    return error(errc::sandbox_unavailable,
                 "the cgroup " + group.string() + " (the limit `cgroup`) cannot be used: " + why);
}

/// A controller of version 1 is missing in version 2.
inline bool has_version_1(std::string const& controller, std::filesystem::path const& root) {
    std::istringstream lines(first_bytes(root / "proc/self/cgroup"));
    for (std::string line; std::getline(lines, line);) {
        auto const begin = line.find(':');
        auto const end = line.find(':', begin + 1);
        if (end == line.npos) continue;
        auto const named = "," + line.substr(begin + 1, end - begin - 1) + ",";
        if (named.find("," + controller + ",") != named.npos) return true;
    }
    return false;
}

/// Those of `wanted` that are not among the words of a file.
inline std::vector<std::string> missing_in(std::filesystem::path const& file, std::vector<std::string> const& wanted) {
    auto const there = words_of(first_bytes(file));
    std::vector<std::string> missing;
    for (auto const& each : wanted)
        if (std::ranges::find(there, each) == there.end()) missing.push_back(each);
    return missing;
}

/// "memory and pids"; with a mark before each: "+memory +pids".
inline std::string joined(std::vector<std::string> const& words, std::string const& between, char const* mark = "") {
    std::string text;
    for (auto const& word : words) text.append(text.empty() ? "" : between).append(mark).append(word);
    return text;
}

inline std::string why_no_controllers(std::filesystem::path const& group, std::vector<std::string> const& missing,
                                      std::filesystem::path const& root) {
    auto const text = "it does not have the controller" + std::string(missing.size() > 1 ? "s " : " ") +
                      joined(missing, " and ") + ", ";
    if (std::ranges::any_of(missing, [&](auto const& name) { return has_version_1(name, root); }))
        return text + "which this machine uses in cgroup version 1: " + way_to_version_2;
    return text + "write \"" + joined(missing, " ", "+") + "\" to " +
           (group.parent_path() / "cgroup.subtree_control").string() +
           "; a group that has processes cannot give them to groups below it";
}

/// The deepest group that is above both, or one of them.
inline std::filesystem::path common_group(std::filesystem::path const& a, std::filesystem::path const& b) {
    std::filesystem::path common;
    auto const [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    for (auto part = a.begin(); part != end; ++part) common /= *part;
    return common;
}

} // namespace detail

IPYBOX_DECL std::optional<own_cgroup> find_own_cgroup(std::filesystem::path const& root) {
    auto const mounted = root / "sys/fs/cgroup";
    std::filesystem::path hierarchy;
    for (auto const& place : {mounted, mounted / "unified"}) // the second one beside version 1
        if (hierarchy.empty() && ::access((place / "cgroup.controllers").c_str(), F_OK) == 0) hierarchy = place;
    if (hierarchy.empty()) return std::nullopt;
    constexpr std::string_view version_2 = "0::/";
    std::istringstream lines(detail::first_bytes(root / "proc/self/cgroup"));
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(version_2)) continue;
        auto const relative = line.substr(version_2.size());
        if (relative == ".." || relative.starts_with("../")) return std::nullopt; // outside of its cgroup namespace
        auto const group = relative.empty() ? hierarchy : hierarchy / relative;
        return own_cgroup{std::move(hierarchy), group};
    }
    return std::nullopt;
}

IPYBOX_DECL result<void> check_delegated_cgroup(std::filesystem::path const& group,
                                                std::vector<std::string> const& controllers,
                                                std::filesystem::path const& root) {
    auto const refusal = [&group](std::string const& why) { return failure(detail::unusable(group, why)); };
    if (::access((group / "cgroup.type").c_str(), F_OK) != 0)
        return refusal("it is the root of its hierarchy; name a group below it");
    if (::access((group / "cgroup.kill").c_str(), F_OK) != 0) return refusal("it has no cgroup.kill: needs Linux 5.14");
    if (auto const type = detail::words_of(detail::first_bytes(group / "cgroup.type"));
        type != std::vector<std::string>{"domain"})
        return refusal("its type is " + detail::joined(type, " ") + ", and groups with limits need \"domain\"");
    if (detail::first_bytes(group / "cgroup.events").find("frozen 1") != std::string::npos)
        return refusal("it is frozen, or a group above it is: a process that enters it stops, and this one would wait "
                       "for it; write 0 to " +
                       (group / "cgroup.freeze").string());
    for (auto const& path : {group, group / "cgroup.procs", group / "cgroup.subtree_control"})
        if (!detail::may_write(path))
            return refusal("this user may not write to " + path.string() + "; " + detail::way_to_a_delegated_cgroup);
    if (auto const inside = detail::words_of(detail::first_bytes(group / "cgroup.procs")); !inside.empty())
        return refusal("it has processes, " + std::to_string(inside.size()) + " of them, the first one is " +
                       inside.front() + "; a group that has processes cannot limit groups below it: name an empty one");
    if (auto const missing = detail::missing_in(group / "cgroup.controllers", controllers); !missing.empty())
        return refusal(detail::why_no_controllers(group, missing, root));
    // A process is moved by the rights to the group that is above its old and its new one.
    auto const own = find_own_cgroup(root);
    if (!own || !lies_in(group, own->hierarchy)) return {};
    auto const above = detail::common_group(group, own->group) / "cgroup.procs";
    if (!detail::may_write(above))
        return refusal("this process is in " + own->group.string() + ", and to move processes from there this user " +
                       "would have to write to " + above.string() + "; " + detail::way_to_a_delegated_cgroup);
    return {};
}

IPYBOX_DECL result<std::filesystem::path> prepare_delegated_cgroup(std::filesystem::path const& named,
                                                                   std::vector<std::string> const& controllers) {
    auto group = named.lexically_normal();
    if (!named.is_absolute()) {
        auto const own = find_own_cgroup();
        if (!own)
            return failure(detail::unusable(named, "it is relative, and this process is in no group of cgroup "
                                                   "version 2 that can be seen; name an absolute path"));
        group = (own->group / named).lexically_normal();
    }
    if (!group.has_filename()) group = group.parent_path(); // a slash at its end
    bool const made = ::mkdir(group.c_str(), 0755) == 0;
    if (int const why = errno; !made && why != EEXIST)
        return failure(detail::unusable(
            group, "it does not exist, and it cannot be made: " + std::generic_category().message(why) + "; " +
                       detail::way_to_a_delegated_cgroup));
    struct ::statfs system{};
    if (::statfs(group.c_str(), &system) != 0)
        return failure(detail::unusable(group, std::generic_category().message(errno)));
    if (system.f_type != CGROUP2_SUPER_MAGIC) {
        if (made) (void)::rmdir(group.c_str());
        if (system.f_type == CGROUP_SUPER_MAGIC)
            return failure(
                detail::unusable(group, std::string("it belongs to cgroup version 1, needed is version 2; ") +
                                            detail::way_to_version_2));
        return failure(detail::unusable(
            group, "it is no directory of cgroup version 2, which is usually mounted at /sys/fs/cgroup"));
    }
    // Links are followed once: one that is changed later leads nowhere else, and the groups above are those that the
    // system sees.
    std::error_code lost;
    group = std::filesystem::canonical(group, lost);
    if (lost) return failure(detail::unusable(named, lost.message()));
    if (auto const missing = detail::missing_in(group / "cgroup.controllers", controllers); !missing.empty()) {
        unique_fd const above(::open((group.parent_path() / "cgroup.subtree_control").c_str(), O_WRONLY | O_CLOEXEC));
        auto const words = detail::joined(missing, " ", "+");
        std::string_view rest = words;
        if (above) (void)write_all(above.get(), rest); // whether that has helped is looked at next
    }
    auto usable = check_delegated_cgroup(group, controllers);
    if (usable) return group;
    if (made) (void)::rmdir(group.c_str());
    return failure(usable);
}

IPYBOX_DECL bool is_in_cgroups(std::filesystem::path const& path) {
    struct ::statfs system{};
    return ::statfs(path.c_str(), &system) == 0 &&
           (system.f_type == CGROUP2_SUPER_MAGIC || system.f_type == CGROUP_SUPER_MAGIC);
}

IPYBOX_DECL std::filesystem::path hierarchy_of(std::filesystem::path const& group) {
    auto top = group;
    struct ::stat status{};
    if (::stat(top.c_str(), &status) != 0) return top;
    auto const device = status.st_dev;
    while (top.has_relative_path() && ::stat(top.parent_path().c_str(), &status) == 0 && status.st_dev == device)
        top = top.parent_path();
    return top;
}

IPYBOX_DECL cgroup_support find_cgroup_support(std::filesystem::path const& root) {
    auto const own = find_own_cgroup(root);
    if (!own) return {.advice = std::string("there is no cgroup version 2 here; ") + detail::way_to_version_2};
    cgroup_support found;
    found.controllers = detail::joined(detail::words_of(detail::first_bytes(own->group / "cgroup.controllers")), " ");
    std::vector<std::string> const needed{"memory", "pids"};
    if (auto const missing = detail::missing_in(own->group / "cgroup.controllers", needed); !missing.empty()) {
        found.advice = detail::joined(missing, " and ") + (missing.size() > 1 ? " are" : " is") + " missing; " +
                       (detail::has_version_1(missing.front(), root) ? detail::way_to_version_2
                                                                     : detail::way_to_a_delegated_cgroup);
        return found;
    }
    auto const is_delegated = [](std::filesystem::path const& group) {
        return detail::may_write(group) && detail::may_write(group / "cgroup.subtree_control") &&
               detail::may_write(group / "cgroup.procs");
    };
    auto const above = own->group.parent_path();
    bool const lies_below = own->group != own->hierarchy;
    if (lies_below && is_delegated(above) && detail::words_of(detail::first_bytes(above / "cgroup.procs")).empty()) {
        found.delegated = true;
        found.advice = "kernels get groups of their own with the cgroup ../kernels (the limit `cgroup`)";
    } else {
        found.delegated = is_delegated(own->group);
        found.advice = found.delegated ? std::string("but this process is in the delegated group itself; ") +
                                             detail::way_to_a_delegated_cgroup
                                       : detail::way_to_a_delegated_cgroup;
    }
    return found;
}

} // namespace ipybox::os
