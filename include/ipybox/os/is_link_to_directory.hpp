#pragma once

#include <filesystem>
#include <system_error>

namespace ipybox::os {

/// Whether a path is a symbolic link to a directory. Code can make one that leads anywhere: what a pattern finds by its
/// name is not what was meant to be closed.
[[nodiscard]] inline bool is_link_to_directory(std::filesystem::path const& path) {
    std::error_code unknown;
    return std::filesystem::is_symlink(path, unknown) && std::filesystem::is_directory(path, unknown);
}

} // namespace ipybox::os
