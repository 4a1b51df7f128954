#pragma once

#include <ipybox/app/directory_check.hpp>
#include <ipybox/os/directory.hpp>
#include <ipybox/os/new_file.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace ipybox::detail {

/// The directory itself, or the nearest one above it that exists.
inline std::filesystem::path nearest_directory(std::filesystem::path directory) {
    std::error_code unknown;
    while (!std::filesystem::exists(directory, unknown) && directory != directory.parent_path())
        directory = directory.parent_path();
    return directory;
}

/// The system's error for a file that is made there; empty: none.
inline std::string refusal_of_file(std::filesystem::path const& directory) {
    os::unique_fd const nameless(::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (nameless) return {};
    // Some file systems have no files without names, and old kernels take the flag for O_DIRECTORY.
    if (errno != EOPNOTSUPP && errno != EISDIR) return std::generic_category().message(errno);
    auto const named = (directory / ".ipybox-probe-XXXXXX").string();
    std::string name = named;
    os::unique_fd const made(::mkostemp(name.data(), O_CLOEXEC));
    if (!made) // in /proc, which is there, the system says that it is not
        return errno == ENOENT ? "the system makes no files there" : std::generic_category().message(errno);
    (void)::unlink(name.c_str());
    return {};
}

/// "12.3 GB", of the space that the user may fill.
inline std::string size_in_words(std::uint64_t bytes) {
    auto const tenths = bytes / 100'000'000;
    return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " GB";
}

IPYBOX_DECL std::string why_not_writable(std::filesystem::path const& directory) {
    auto const present = nearest_directory(directory);
    auto const why = refusal_of_file(present);
    return why.empty() ? why : present.string() + " cannot be written to: " + why;
}

IPYBOX_DECL finding check_directory(std::string name, std::filesystem::path const& directory) {
    finding found{.name = std::move(name), .state = finding_state::fails, .path = directory};
    auto const present = nearest_directory(directory);
    found.gap = why_not_writable(present);
    if (!found.gap.empty()) return found;
    struct statvfs space = {};
    if (::statvfs(present.c_str(), &space) == 0) {
        auto const free = std::uint64_t(space.f_bavail) * space.f_frsize;
        constexpr std::uint64_t little = 10'000'000;
        if (free < little) {
            found.gap = present.string() + " has less than 10 MB of free space";
            return found;
        }
        found.note = size_in_words(free) + " free";
    }
    if (present != directory) found.note += found.note.empty() ? "will be made" : ", will be made";
    found.state = finding_state::works;
    return found;
}

} // namespace ipybox::detail
