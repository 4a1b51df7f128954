#pragma once

#include <ipybox/core/random_hex.hpp>
#include <ipybox/core/sha256.hpp>
#include <ipybox/http/file_token_store.hpp>
#include <ipybox/http/url.hpp>
#include <ipybox/os/read_file.hpp>
#include <ipybox/os/write_all.hpp>

#include <fcntl.h>
#include <stdio.h> // renameat
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace ipybox::http {
namespace detail {

/// Bytes of one file of tokens.
inline constexpr std::size_t longest_token_file = std::size_t(1) << 20;

/// A file or directory that is this user's alone.
inline result<void> check_own(int descriptor, std::string const& name, bool is_directory) {
    struct ::stat about{};
    if (::fstat(descriptor, &about) != 0) return failure(ipybox::detail::system_failure(name, errno));
    auto const wrong = [&name](std::string_view why) {
        return failure(errc::invalid_argument, name + " " + std::string(why));
    };
    if (!is_directory && !S_ISREG(about.st_mode)) return wrong("is not a regular file: remove it");
    if (about.st_uid != ::geteuid()) return wrong("belongs to another user: choose another directory for tokens");
    constexpr mode_t of_others = 077;
    if ((about.st_mode & of_others) != 0)
        return wrong(is_directory
                         ? "is open to other users: run chmod 700 on it, or choose another directory for tokens"
                         : "is open to other users: run chmod 600 on it, and sign in again if they read it");
    return {};
}

inline error link_failure(std::string const& name, int number) {
    if (number == ELOOP || number == ENOTDIR)
        return {errc::invalid_argument, name + " is a symbolic link, or not what it has to be: remove it"};
    return ipybox::detail::system_failure(name, number);
}

/// Waits for the lock of a directory; writers hold it for as long as it takes to replace a file.
inline result<void> lock_directory(int descriptor, std::string const& name) {
    using namespace std::chrono_literals;
    auto const bound = std::chrono::steady_clock::now() + 5s;
    while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return failure(ipybox::detail::system_failure("locking " + name, errno));
        if (std::chrono::steady_clock::now() >= bound)
            return failure(errc::io_error, name + " is locked by another process: end it, and try again");
        std::this_thread::sleep_for(10ms);
    }
    return {};
}

/// Writes a file beside the old one and puts it in its place.
inline result<void> replace_file(int directory, std::string const& name, std::string const& shown,
                                 std::string_view text) {
    auto const beside = "." + name + "." + random_hex(8);
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    os::unique_fd file(::openat(directory, beside.c_str(), flags, 0600));
    if (!file) return failure(ipybox::detail::system_failure("making a file beside " + shown, errno));
    int broken = os::write_all(file.get(), text);
    if (broken == 0 && ::fsync(file.get()) != 0) broken = errno;
    if (broken == 0 && ::renameat(directory, beside.c_str(), directory, name.c_str()) != 0) broken = errno;
    if (broken == 0) {
        (void)::fsync(directory);
        return {};
    }
    (void)::unlinkat(directory, beside.c_str(), 0);
    return failure(ipybox::detail::system_failure("writing " + shown, broken));
}

/// The name of a file: the host, for people, and what tells servers apart.
inline std::string token_file_name(std::string const& server) {
    auto const address = url::parse(server);
    auto name = address ? address->host() : std::string("server");
    for (auto& c : name)
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-')) c = '_';
    constexpr std::size_t longest = 64;
    constexpr std::size_t digits = 24;
    if (name.starts_with('.')) name.front() = '_';
    return name.substr(0, longest) + "-" + sha256_hex(server).substr(0, digits) + ".json";
}

} // namespace detail

IPYBOX_DECL std::filesystem::path file_token_store::file_of(std::string const& server) const {
    return directory_ / detail::token_file_name(server);
}

/// A descriptor that is empty: there is no directory.
IPYBOX_DECL result<os::unique_fd> file_token_store::open_directory(missing what) const {
    auto const name = directory_.string();
    if (what == missing::is_made) {
        std::error_code cannot;
        std::filesystem::create_directories(directory_.parent_path(), cannot);
        if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST)
            return failure(ipybox::detail::system_failure("making the directory " + name, errno));
    }
    auto opened = os::make_unforked(
        [this] { return ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
    if (!opened && errno == ENOENT && what == missing::is_empty) return os::unique_fd();
    if (!opened) return failure(detail::link_failure(name, errno));
    if (auto own = detail::check_own(opened.get(), name, true); !own) return failure(own);
    return opened;
}

IPYBOX_DECL result<std::vector<oauth_grant>> file_token_store::read(os::unique_fd const& in,
                                                                    std::string const& server) const {
    auto const path = file_of(server);
    constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    os::unique_fd const file(::openat(in.get(), path.filename().c_str(), flags));
    if (!file && errno == ENOENT) return std::vector<oauth_grant>();
    if (!file) return failure(detail::link_failure(path.string(), errno));
    if (auto own = detail::check_own(file.get(), path.string(), false); !own) return failure(own);
    auto text = os::read_all(file.get(), path.string(), detail::longest_token_file);
    if (!text) return failure(text);
    return read_grants(*text, server, path.string());
}

IPYBOX_DECL result<std::vector<oauth_grant>> file_token_store::load(std::string const& server) {
    auto in = open_directory(missing::is_empty);
    if (!in) return failure(in);
    return *in ? read(*in, server) : std::vector<oauth_grant>();
}

IPYBOX_DECL result<void> file_token_store::save(std::string const& server, oauth_grant const& grant) {
    auto in = open_directory(missing::is_made);
    if (!in) return failure(in);
    if (auto locked = detail::lock_directory(in->get(), directory_.string()); !locked) return locked;
    auto grants = read(*in, server);
    if (!grants) return failure(grants);
    put_first(*grants, grant);
    auto const path = file_of(server);
    return detail::replace_file(in->get(), path.filename().string(), path.string(), write_grants(server, *grants));
}

IPYBOX_DECL result<void> file_token_store::remove(std::string const& server) {
    auto in = open_directory(missing::is_empty);
    if (!in) return failure(in);
    if (!*in) return {};
    if (auto locked = detail::lock_directory(in->get(), directory_.string()); !locked) return locked;
    auto const path = file_of(server);
    if (::unlinkat(in->get(), path.filename().c_str(), 0) != 0 && errno != ENOENT)
        return failure(ipybox::detail::system_failure("removing " + path.string(), errno));
    return {};
}

IPYBOX_DECL result<std::shared_ptr<void>> file_token_store::try_lock(std::string const& server) {
    auto in = open_directory(missing::is_made);
    if (!in) return failure(in);
    auto const name = file_of(server).filename().string() + ".lock";
    auto file = os::make_unforked([&in, &name] {
        return ::openat(in->get(), name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    });
    auto const shown = (directory_ / name).string();
    if (!file) return failure(detail::link_failure(shown, errno));
    if (auto own = detail::check_own(file.get(), shown, false); !own) return failure(own);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
        std::shared_ptr<void> claim = std::make_shared<os::unique_fd>(std::move(file));
        return claim;
    }
    if (errno == EWOULDBLOCK) return std::shared_ptr<void>();
    return failure(ipybox::detail::system_failure("locking " + shown, errno));
}

} // namespace ipybox::http
