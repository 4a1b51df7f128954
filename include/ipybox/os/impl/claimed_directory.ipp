#pragma once

#include <ipybox/os/claimed_directory.hpp>
#include <ipybox/os/remove_tree.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace ipybox::os {
namespace detail {

/// An own directory under this path, not a link to one. No fork holds the lock that it gets.
inline unique_fd open_own_directory(std::filesystem::path const& path) {
    auto opened =
        make_unforked([&path] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
    struct ::stat about{};
    if (!opened || ::fstat(opened.get(), &about) != 0 || about.st_uid != ::geteuid()) return {};
    return opened;
}

inline void remove_if_left_behind(std::filesystem::path const& path) {
    auto const left = open_own_directory(path);
    if (!left || ::flock(left.get(), LOCK_EX | LOCK_NB) != 0) return;
    (void)remove_tree(path);
}

inline void remove_left_behind(std::string const& prefix) {
    std::error_code unreadable;
    std::filesystem::directory_iterator entries("/tmp", unreadable);
    for (; !unreadable && entries != std::filesystem::directory_iterator(); entries.increment(unreadable))
        if (entries->path().filename().native().starts_with(prefix)) remove_if_left_behind(entries->path());
}

/// Locks a directory. None where another process took it for one that was left behind.
inline unique_fd claim(std::filesystem::path const& path) {
    auto opened = open_own_directory(path);
    struct ::stat about{};
    bool const is_ours = opened && ::flock(opened.get(), LOCK_EX) == 0 && ::fstat(opened.get(), &about) == 0;
    return is_ours && about.st_nlink != 0 ? std::move(opened) : unique_fd();
}

} // namespace detail

IPYBOX_DECL result<claimed_directory> claimed_directory::make(std::string_view name) {
    detail::remove_left_behind(std::string(name) + '-');
    constexpr int most_tries = 10;
    for (int tries = 0; tries < most_tries; ++tries) {
        auto directory = temporary_directory::make(name);
        if (!directory) return failure(directory);
        if (auto claimed = detail::claim(directory->path()))
            return claimed_directory(std::move(*directory), std::move(claimed));
    }
    return failure(errc::io_error, "a directory below /tmp cannot be locked; another program removes it each time");
}

} // namespace ipybox::os
