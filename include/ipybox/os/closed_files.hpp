#pragma once

#include <ipybox/core/result.hpp>

#include <filesystem>
#include <memory>
#include <vector>

namespace ipybox::os {

/// Files of a kernel's working directory that it must not write to.
struct closed_files {
    std::vector<std::filesystem::path> relative = {}; ///< to the working directory, without links
    std::shared_ptr<void const> keeps = {};           ///< what stands for missing ones; to live with the kernel
};

/// Finds the closed files of each kernel within walls, when it is about to start.
class closed_files_finder {
  public:
    closed_files_finder() = default;
    closed_files_finder(closed_files_finder const&) = delete;
    closed_files_finder& operator=(closed_files_finder const&) = delete;
    virtual ~closed_files_finder() = default;

    /// Those in a working directory. \par Errors errc::io_error — a directory cannot be searched, or what stands for a
    /// missing file not be made
    [[nodiscard]] virtual result<closed_files> find(std::filesystem::path const& working_dir) const = 0;
};

} // namespace ipybox::os
