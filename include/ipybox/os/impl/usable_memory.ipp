#pragma once

#include <ipybox/os/read_file.hpp>
#include <ipybox/os/usable_memory.hpp>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace ipybox::detail {

IPYBOX_DECL std::optional<std::uint64_t> physical_memory() noexcept {
    auto const pages = ::sysconf(_SC_PHYS_PAGES);
    auto const size = ::sysconf(_SC_PAGESIZE);
    if (pages <= 0 || size <= 0) return std::nullopt;
    return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
}

/// None where the file is missing or says "max".
inline std::optional<std::uint64_t> number_in(std::filesystem::path const& file) {
    auto const text = os::read_file(file, file.string(), 4096);
    if (!text) return std::nullopt;
    std::uint64_t value = 0;
    auto const [end, wrong] = std::from_chars(text->data(), text->data() + text->size(), value);
    return wrong == std::errc() ? std::optional<std::uint64_t>(value) : std::nullopt;
}

inline std::optional<std::uint64_t> lesser(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b) {
    if (!a || !b) return a ? a : b;
    return std::min(*a, *b);
}

/// The least limit of a group and of those above it. If the group itself cannot be seen, those above it may be seen.
inline std::optional<std::uint64_t> least_limit(std::filesystem::path const& hierarchy, std::string_view group,
                                                char const* file) {
    std::optional<std::uint64_t> least;
    std::filesystem::path relative(group.substr(std::min(group.find_first_not_of('/'), group.size())));
    for (; !relative.empty(); relative = relative.parent_path())
        least = lesser(least, number_in(hierarchy / relative / file));
    return lesser(least, number_in(hierarchy / file));
}

IPYBOX_DECL std::optional<std::uint64_t> memory_of_control_groups(std::filesystem::path const& root) {
    // Version 1 says "no limit" with a number near that of all addresses.
    constexpr std::uint64_t unlimited = std::uint64_t{1} << 60;
    auto const hierarchies = root / "sys/fs/cgroup";
    auto const groups = os::read_file(root / "proc/self/cgroup", "the control groups", 65536);
    if (!groups) return std::nullopt;
    std::optional<std::uint64_t> least;
    for (std::size_t begin = 0; begin < groups->size();) {
        auto const end = std::min(groups->find('\n', begin), groups->size());
        auto const line = std::string_view(*groups).substr(begin, end - begin);
        begin = end + 1;
        auto const controllers = line.find(':');
        auto const group = line.find(':', controllers + 1);
        if (controllers == line.npos || group == line.npos) continue;
        auto const named = "," + std::string(line.substr(controllers + 1, group - controllers - 1)) + ",";
        auto const path = line.substr(group + 1);
        if (named == ",,")
            least = lesser(least, least_limit(hierarchies, path, "memory.max"));
        else if (named.find(",memory,") != named.npos)
            least = lesser(least, least_limit(hierarchies / "memory", path, "memory.limit_in_bytes"));
    }
    return least && *least < unlimited ? least : std::nullopt;
}

IPYBOX_DECL std::optional<std::uint64_t> large_share_of_memory() {
    static std::optional<std::uint64_t> const share = []() -> std::optional<std::uint64_t> {
        auto const all = lesser(physical_memory(), memory_of_control_groups());
        if (!all) return std::nullopt;
        return *all / 5 * 4;
    }();
    return share;
}

} // namespace ipybox::detail
