#pragma once

#include <ipybox/os/open_without_links.hpp>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace ipybox::os {
namespace detail {

/// Opens a path one part after the other, none of which may be a link.
inline unique_fd open_part_by_part(std::filesystem::path const& path) {
    unique_fd place(::open(path.is_absolute() ? "/" : ".", O_PATH | O_CLOEXEC));
    for (auto const& part : path.relative_path()) {
        if (!place || part.empty()) continue;
        place = unique_fd(::openat(place.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        struct ::stat about{};
        if (!place || ::fstat(place.get(), &about) != 0 || !S_ISLNK(about.st_mode)) continue;
        place = unique_fd();
        errno = ELOOP;
    }
    return place;
}

} // namespace detail

/// If openat2 "does not exist", as our own filter says, it takes a call for each part.
IPYBOX_DECL unique_fd open_without_links(std::filesystem::path const& path) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_NO_SYMLINKS;
    unique_fd file(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
    return !file && errno == ENOSYS ? detail::open_part_by_part(path) : std::move(file);
}

} // namespace ipybox::os
