#pragma once

#include <ipybox/os/directory.hpp>
#include <ipybox/os/lies_in.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace ipybox::os {
namespace detail {

/// The names that lead from one directory to another one below it.
inline std::vector<std::string> names_between(std::filesystem::path const& above, std::filesystem::path const& below) {
    std::vector<std::string> names;
    for (auto const& name : below.lexically_relative(above))
        if (name != "." && !name.empty()) names.push_back(name.string());
    return names;
}

/// From where on no link is followed.
inline std::filesystem::path unlinked_root(std::filesystem::path const& path, std::filesystem::path const& root) {
    return lies_in(path, root) ? root : path.parent_path();
}

} // namespace detail

IPYBOX_DECL result<directory> directory::open(std::filesystem::path const& path) {
    unique_fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return failure(ipybox::detail::system_failure("opening the directory " + path.string(), errno));
    return directory(path, std::move(fd));
}

IPYBOX_DECL result<directory> directory::make(std::filesystem::path const& path, std::filesystem::path const& root) {
    auto const whole = path.lexically_normal();
    auto const above = detail::unlinked_root(whole, root);
    std::error_code cannot;
    std::filesystem::create_directories(above, cannot);
    if (cannot)
        return failure(ipybox::detail::system_failure("making the directory " + above.string(), cannot.value()));
    auto at = open(above);
    for (auto const& name : detail::names_between(above, whole)) {
        if (!at) break;
        at = at->make_below(name);
    }
    return at;
}

IPYBOX_DECL result<directory> directory::make_below(std::string const& name) const {
    auto const whole = path_ / name;
    if (::mkdirat(fd_.get(), name.c_str(), 0777) != 0 && errno != EEXIST)
        return failure(ipybox::detail::system_failure("making the directory " + whole.string(), errno));
    unique_fd fd(::openat(fd_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd) return directory(whole, std::move(fd));
    auto const number = errno;
    struct stat info{};
    if (::fstatat(fd_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode))
        return failure(errc::io_error, whole.string() +
                                           " is a symbolic link, which code may have made: remove it, or name "
                                           "the directory that it leads to");
    return failure(ipybox::detail::system_failure("opening the directory " + whole.string(), number));
}

IPYBOX_DECL void directory::remove(std::string const& name) const noexcept {
    (void)::unlinkat(fd_.get(), name.c_str(), 0);
}

IPYBOX_DECL directory_to_make::directory_to_make(std::filesystem::path const& path, std::filesystem::path const& root)
    : at_(failure(errc::io_error)) {
    auto const whole = path.lexically_normal();
    bool const within = lies_in(whole, root);
    auto above = within ? root : whole;
    for (;;) {
        at_ = directory::open(above);
        if (at_ || at_.error().cause() != std::errc::no_such_file_or_directory || above == above.parent_path()) break;
        above = above.parent_path();
    }
    rest_ = detail::names_between(above, whole);
}

IPYBOX_DECL result<directory const*> directory_to_make::get() {
    if (!at_) return tl::unexpected<error>(at_.error());
    while (!rest_.empty()) {
        auto next = at_->make_below(rest_.front());
        if (!next) return failure(next);
        at_ = std::move(next);
        rest_.erase(rest_.begin());
    }
    return &*at_;
}

} // namespace ipybox::os
