#pragma once

#include <filesystem>

namespace ipybox::detail {

/// A path that code must not write to. If it is missing, an empty one takes its place, since nothing can be mounted
/// there otherwise.
struct guarded_path {
    enum class kind { file, directory };

    std::filesystem::path path;
    kind made_as = kind::file;

    friend bool operator==(guarded_path const&, guarded_path const&) = default;
};

} // namespace ipybox::detail
