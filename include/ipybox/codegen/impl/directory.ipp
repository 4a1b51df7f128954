#pragma once

#include <ipybox/codegen/impl/directory.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/os/directory_stream.hpp>
#include <ipybox/os/lies_in.hpp>
#include <ipybox/os/write_all.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <system_error>

namespace ipybox::codegen::detail {

inline constexpr int open_directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Directories belong to code: what is read of them is held in memory, and each level takes a descriptor.
inline constexpr std::size_t most_entries = 20'000;
inline constexpr int deepest_removed = 64;

IPYBOX_DECL tl::unexpected<error> directory::refused(std::string_view what, std::string const& name) const {
    auto const number = errno;
    return failure(ipybox::detail::system_failure(std::string(what) + " " + (path_ / name).string(), number));
}

IPYBOX_DECL result<directory> directory::make(std::filesystem::path const& path,
                                              std::filesystem::path const& code_dir) {
    std::error_code cannot;
    auto const here = std::filesystem::current_path(cannot);
    auto whole = std::filesystem::absolute(path, cannot);
    if (cannot)
        return failure(ipybox::detail::system_failure("finding the directory " + path.string(), cannot.value()));
    if (!whole.has_filename()) whole = whole.parent_path();
    auto const of_code = std::filesystem::absolute(code_dir.empty() ? here : code_dir, cannot).lexically_normal();
    bool const within = os::lies_in(whole.lexically_normal(), of_code);
    auto made = os::directory::make(whole, within ? of_code : here);
    if (!made) return failure(made);
    return directory(path, std::move(*made).release());
}

IPYBOX_DECL result<directory> directory::open(std::string const& name) const {
    os::unique_fd fd(::openat(fd_.get(), name.c_str(), open_directory_flags));
    if (!fd) return refused("opening the directory", name);
    return directory(path_ / name, std::move(fd));
}

IPYBOX_DECL result<directory> directory::make_below(std::string const& name) const {
    if (::mkdirat(fd_.get(), name.c_str(), 0700) != 0) return refused("making the directory", name);
    return open(name);
}

IPYBOX_DECL result<entry_kind> directory::kind_of(std::string const& name) const {
    struct stat info{};
    if (::fstatat(fd_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) return entry_kind::nothing;
        return refused("looking at", name);
    }
    return S_ISDIR(info.st_mode) ? entry_kind::directory : S_ISREG(info.st_mode) ? entry_kind::file : entry_kind::other;
}

IPYBOX_DECL result<std::vector<std::string>> directory::names() const {
    os::directory_stream entries(os::unique_fd(::openat(fd_.get(), ".", open_directory_flags)));
    if (!entries) return refused("reading the directory", "");
    std::vector<std::string> names;
    errno = 0;
    while (auto const* entry = entries.next()) {
        if (names.size() == most_entries)
            return failure(errc::invalid_argument,
                           path_.string() + " has more than 20,000 entries: generate into another directory");
        names.emplace_back(static_cast<char const*>(entry->d_name));
    }
    if (errno != 0) return refused("reading the directory", "");
    return names;
}

IPYBOX_DECL result<std::optional<std::string>> directory::read(std::string const& name, std::size_t limit) const {
    os::unique_fd const fd(::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd && errno == ENOENT) return std::optional<std::string>();
    if (!fd) return refused("opening", name);
    std::string text;
    std::array<char, 1 << 16> part{};
    while (text.size() < limit) {
        auto const count = ::read(fd.get(), part.data(), std::min(part.size(), limit - text.size()));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return refused("reading", name);
        if (count == 0) break;
        text.append(part.data(), static_cast<std::size_t>(count));
    }
    return std::optional<std::string>(std::move(text));
}

IPYBOX_DECL result<void> directory::write(std::string const& name, std::string_view text) const {
    os::unique_fd const fd(
        ::openat(fd_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!fd) return refused("making", name);
    if (int const broken = os::write_all(fd.get(), text); broken != 0)
        return failure(ipybox::detail::system_failure("writing " + (path_ / name).string(), broken));
    return {};
}

IPYBOX_DECL result<void> directory::flush() const {
    if (::fsync(fd_.get()) != 0) return refused("flushing the directory", "");
    return {};
}

IPYBOX_DECL result<void> directory::flush_all() const {
    if (::syncfs(fd_.get()) != 0) return refused("flushing the files in", "");
    return {};
}

IPYBOX_DECL result<void> directory::rename(std::string const& from, std::string const& to) const {
    if (::renameat2(fd_.get(), from.c_str(), fd_.get(), to.c_str(), RENAME_NOREPLACE) == 0) return {};
    if (errno != EINVAL && errno != ENOSYS) return refused("renaming " + from + " to", to);
    auto const there = kind_of(to); // the file system cannot do both in one step
    if (!there) return tl::unexpected<error>(there.error());
    errno = EEXIST;
    if (*there != entry_kind::nothing) return refused("renaming " + from + " to", to);
    return replace(from, to);
}

IPYBOX_DECL result<void> directory::replace(std::string const& from, std::string const& to) const {
    if (::renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) != 0) return refused("renaming " + from + " to", to);
    return {};
}

IPYBOX_DECL result<void> directory::exchange(std::string const& a, std::string const& b) const {
    if (::renameat2(fd_.get(), a.c_str(), fd_.get(), b.c_str(), RENAME_EXCHANGE) == 0) return {};
    if (errno != EINVAL && errno != ENOSYS) return refused("exchanging " + a + " with", b);
    auto const between = a + "-old";
    if (auto aside = rename(b, between); !aside) return aside;
    if (auto in = rename(a, b); !in) {
        (void)rename(between, b);
        return in;
    }
    auto out = rename(between, a);
    if (!out) {
        (void)rename(b, a);
        (void)rename(between, b);
    }
    return out;
}

IPYBOX_DECL result<void> directory::remove(std::string const& name) const { return remove(name, deepest_removed); }

IPYBOX_DECL result<void> directory::remove(std::string const& name, int levels) const {
    auto const kind = kind_of(name);
    if (!kind) return tl::unexpected<error>(kind.error());
    if (*kind == entry_kind::directory) {
        if (levels == 0)
            return failure(errc::invalid_argument, (path_ / name).string() + " lies too deep to be removed");
        auto const below = open(name);
        if (!below) return tl::unexpected<error>(below.error());
        auto const entries = below->names();
        if (!entries) return tl::unexpected<error>(entries.error());
        for (auto const& entry : *entries)
            if (auto removed = below->remove(entry, levels - 1); !removed) return removed;
    }
    if (::unlinkat(fd_.get(), name.c_str(), *kind == entry_kind::directory ? AT_REMOVEDIR : 0) != 0 && errno != ENOENT)
        return refused("removing", name);
    return {};
}

/// Where code cannot hold them: a sandbox has a /tmp of its own, and of other users it is none.
inline result<std::filesystem::path> directory_of_locks() {
    std::filesystem::path path = "/tmp/ipybox-locks-" + std::to_string(::geteuid());
    (void)::mkdir(path.c_str(), 0700);
    struct ::stat status{};
    bool const is_own = ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                        status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
    if (is_own) return path;
    return failure(errc::io_error, path.string() +
                                       ", where generators wait for each other, is not a directory of yours "
                                       "alone: remove it");
}

IPYBOX_DECL result<os::unique_fd> directory::lock(std::string const& name, std::chrono::milliseconds patience) const {
    auto const until = std::chrono::steady_clock::now() + clamped(patience);
    static constexpr int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    auto const locks = directory_of_locks();
    if (!locks) return failure(locks.error());
    struct ::stat status{};
    if (::fstat(fd_.get(), &status) != 0)
        return failure(ipybox::detail::system_failure("looking at " + path_.string(), errno));
    auto const path = *locks / (std::to_string(status.st_dev) + "-" + std::to_string(status.st_ino) + "." + name);
    // A fork would hold the lock as long as it lives.
    auto file = os::make_unforked([&] { return ::open(path.c_str(), flags, 0600); });
    if (!file) return failure(ipybox::detail::system_failure("opening the lock " + path.string(), errno));
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;

    // its holder lets go by closing it, which is seen here
    os::unique_fd const closings(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    auto const itself = "/proc/self/fd/" + std::to_string(file.get());
    if (!closings || ::inotify_add_watch(closings.get(), itself.c_str(), IN_CLOSE) < 0)
        return refused("watching", name);
    while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return refused("locking", name);
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        if (left.count() <= 0)
            return failure(errc::io_error, "another process holds " + path.string() +
                                               ": wait for the other generator, or end the process that holds it");
        pollfd waiting{closings.get(), POLLIN, 0};
        ::poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
        std::array<char, 4096> seen{};
        while (::read(closings.get(), seen.data(), seen.size()) > 0) {}
    }
    return file;
}

} // namespace ipybox::codegen::detail
