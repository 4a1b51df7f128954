#pragma once

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace ipybox::detail {

/// The path of something that is there, without links.
inline std::optional<std::filesystem::path> without_links(std::filesystem::path const& path) {
    std::error_code missing;
    auto real = std::filesystem::canonical(path, missing);
    return missing ? std::nullopt : std::optional(std::move(real));
}

inline bool is_link(std::filesystem::path const& path) {
    std::error_code missing;
    return std::filesystem::is_symlink(path, missing);
}

} // namespace ipybox::detail
