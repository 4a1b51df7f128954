#pragma once

#include <ipybox/core/config.hpp>

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace ipybox::os {

/// Which file is behind a path, whatever it is called later.
struct file_identity {
    std::filesystem::path path;
    dev_t device = 0;
    ino_t inode = 0;

    friend bool operator==(file_identity const&, file_identity const&) = default;
};

/// None where a part of the path is missing, or a link.
[[nodiscard]] std::optional<file_identity> identity_of(std::filesystem::path const& path);

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/file_identity.ipp>
#endif
