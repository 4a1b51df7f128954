#pragma once

#include <ipybox/os/file_identity.hpp>
#include <ipybox/os/open_without_links.hpp>

#include <sys/stat.h>

namespace ipybox::os {

IPYBOX_DECL std::optional<file_identity> identity_of(std::filesystem::path const& path) {
    auto const file = open_without_links(path);
    struct ::stat about{};
    if (!file || ::fstat(file.get(), &about) != 0) return std::nullopt;
    return file_identity{path, about.st_dev, about.st_ino};
}

} // namespace ipybox::os
