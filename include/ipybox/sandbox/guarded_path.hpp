#pragma once

#include <filesystem>

namespace ipybox::detail {

/// A path that code must not write to. If it is missing, a placeholder takes its place, since nothing can be mounted
/// there otherwise.
struct guarded_path {
    /// How a placeholder is made: as an empty file, an empty directory, or a file that says `.` (`commondir` of git).
    enum class kind { file, directory, dot_file };

    std::filesystem::path path;
    kind made_as = kind::file;

    friend bool operator==(guarded_path const&, guarded_path const&) = default;
};

} // namespace ipybox::detail
