#pragma once

#include <filesystem>

namespace ipybox::os {

/// `path` is `folder` or lies below it, by their names alone. Both absolute and normal; nothing lies in an empty path.
[[nodiscard]] inline bool lies_in(std::filesystem::path const& path, std::filesystem::path const& folder) {
    if (folder.empty()) return false;
    auto const rest = path.lexically_relative(folder);
    return !rest.empty() && *rest.begin() != "..";
}

} // namespace ipybox::os
