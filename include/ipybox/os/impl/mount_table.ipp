#pragma once

#include <ipybox/os/lies_in.hpp>
#include <ipybox/os/mount_table.hpp>
#include <ipybox/os/read_file.hpp>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <utility>

namespace ipybox::os {
namespace detail {

/// More than any machine has of them.
inline constexpr std::size_t longest_mount_table = std::size_t(16) << 20;

/// Blanks and the like are written as `\040`.
inline std::filesystem::path path_of_mount(std::string_view text) {
    std::string path;
    auto const is_octal = [](char c) { return c >= '0' && c <= '7'; };
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto const digits = text.substr(i + 1, 3);
        if (text[i] == '\\' && digits.size() == 3 && std::ranges::all_of(digits, is_octal)) {
            path += static_cast<char>(std::stoi(std::string(digits), nullptr, 8));
            i += 3;
        } else {
            path += text[i];
        }
    }
    return path;
}

} // namespace detail

IPYBOX_DECL mount_table mount_table::now() {
    auto const text = read_file("/proc/self/mountinfo", "the mounts", detail::longest_mount_table);
    return parse(text ? *text : std::string());
}

IPYBOX_DECL mount_table mount_table::parse(std::string_view text) {
    mount_table table;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string id, parent, device, root, target;
        if (words >> id >> parent >> device >> root >> target)
            table.mounts_.push_back({device, detail::path_of_mount(root), detail::path_of_mount(target)});
    }
    return table;
}

/// The one that was made last counts.
IPYBOX_DECL mount_table::mount const* mount_table::around(std::filesystem::path const& path) const {
    mount const* innermost = nullptr;
    for (auto const& each : mounts_)
        if (lies_in(path, each.target) && (!innermost || lies_in(each.target, innermost->target))) innermost = &each;
    return innermost;
}

IPYBOX_DECL std::vector<std::filesystem::path> mount_table::other_names(std::filesystem::path const& path) const {
    std::vector<std::filesystem::path> names;
    auto const* const own = around(path);
    if (!own) return names;
    auto const in_file_system = (own->root / path.lexically_relative(own->target)).lexically_normal();
    auto const plain = in_file_system.has_filename() ? in_file_system : in_file_system.parent_path();
    for (auto const& other : mounts_) {
        if (&other == own || other.device != own->device) continue;
        auto name = other.target;
        if (lies_in(plain, other.root))
            name = (other.target / plain.lexically_relative(other.root)).lexically_normal();
        else if (!lies_in(other.root, plain))
            continue;
        if (!name.has_filename() && name.has_relative_path()) name = name.parent_path();
        if (name != path && !lies_in(name, path)) names.push_back(std::move(name));
    }
    return names;
}

} // namespace ipybox::os
