#include <ipybox/os/read_file.hpp>
#include <ipybox/os/unique_fd.hpp>
#include <ipybox/os/write_all.hpp>

#include <cli/replace_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace ipybox::cli {
namespace {

using std::filesystem::path;

auto cannot_write(path const& file, int error) {
    return failure(errc::io_error, "writing " + file.string() + ": " + std::generic_category().message(error));
}

/// Writes a new file beside another one, and gives it its name then.
result<void> write_as(path const& file, std::string_view text, struct stat const* like) {
    auto name = file.string() + ".XXXXXX";
    os::unique_fd const made(::mkostemp(name.data(), O_CLOEXEC));
    if (!made) return cannot_write(file, errno);
    bool const is_owned_by_other = like != nullptr && (like->st_uid != ::geteuid() || like->st_gid != ::getegid());
    int error = 0;
    if (is_owned_by_other && ::fchown(made.get(), like->st_uid, like->st_gid) != 0) error = errno;
    if (error == 0 && like != nullptr && ::fchmod(made.get(), like->st_mode & 07777) != 0) error = errno;
    if (error == 0) error = os::write_all(made.get(), text);
    if (error == 0 && ::fsync(made.get()) != 0) error = errno;
    if (error == 0 && ::rename(name.c_str(), file.c_str()) != 0) error = errno;
    if (error == 0) return {};
    ::unlink(name.c_str());
    return cannot_write(file, error);
}

} // namespace

result<path> replace_file(path const& file, std::optional<std::string> const& before, std::string_view after) {
    std::error_code error;
    if (!before) {
        std::filesystem::create_directories(file.parent_path(), error);
        if (error) return cannot_write(file, error.value());
        if (auto const made = write_as(file, after, nullptr); !made) return failure(made.error());
        return path();
    }
    auto const target = std::filesystem::canonical(file, error);
    if (error) return cannot_write(file, error.value());
    struct stat status{};
    if (::stat(target.c_str(), &status) != 0) return cannot_write(target, errno);
    auto const backup = path(target.string() + ".ipybox-backup");
    if (auto const kept = write_as(backup, *before, &status); !kept) return failure(kept.error());
    auto const now = os::read_regular_file(target, "reading " + target.string(), before->size() + 1);
    if (!now || *now != *before)
        return failure(errc::io_error, target.string() + " was changed by another program meanwhile; try again");
    if (auto const made = write_as(target, after, &status); !made) return failure(made.error());
    return backup;
}

} // namespace ipybox::cli
