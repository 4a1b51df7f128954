#pragma once

#include <ipybox/core/config.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::os {

/// The mounts of this process (proc_pid_mountinfo(5)), as far as several show the same files.
class mount_table {
  public:
    /// That of now; empty where it cannot be read.
    [[nodiscard]] static mount_table now();

    /// Of the text of a `mountinfo`.
    [[nodiscard]] static mount_table parse(std::string_view text);

    /**
     * \brief Further paths that lead to a file or directory, or to a part of it, by other mounts of the same file
     * system.
     * \param path absolute, without links
     */
    [[nodiscard]] std::vector<std::filesystem::path> other_names(std::filesystem::path const& path) const;

  private:
    struct mount {
        std::string device;           ///< "8:1"
        std::filesystem::path root;   ///< in its file system
        std::filesystem::path target; ///< where it is mounted
    };

    [[nodiscard]] mount const* around(std::filesystem::path const& path) const;

    std::vector<mount> mounts_; ///< in the order in which they were made
};

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/mount_table.ipp>
#endif
