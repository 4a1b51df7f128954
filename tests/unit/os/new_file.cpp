#include <ipybox/os/new_file.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string>

namespace {

using namespace ipybox;
using namespace ipybox::os;
using test::contains;
using test::scratch_dir;

/// A file in a directory that is made for it.
result<new_file> make_file(std::filesystem::path const& path, std::string_view stem, std::string_view suffix) {
    auto const in = directory::make(path, "/");
    if (!in) return tl::unexpected<error>(in.error());
    return os::make_file(*in, stem, suffix);
}

} // namespace

TEST_CASE("new_file: is made with its directories, for the owner alone") {
    scratch_dir const dir;
    auto const file = make_file(dir.path() / "a" / "b", "stem-", ".txt");
    REQUIRE(file);
    CHECK(file->path.parent_path() == dir.path() / "a" / "b");
    CHECK(file->path.filename().string().starts_with("stem-"));
    CHECK(file->path.extension() == ".txt");
    struct stat info{};
    REQUIRE(::stat(file->path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    CHECK((::fcntl(file->descriptor.get(), F_GETFD) & FD_CLOEXEC) != 0);

    REQUIRE(write_all(*file, "one "));
    REQUIRE(write_all(*file, ""));
    REQUIRE(write_all(*file, std::string("t\0o", 3)));
    CHECK(test::read_file(file->path) == std::string("one t\0o", 7));
}

TEST_CASE("new_file: never one that is there") {
    scratch_dir const dir;
    std::set<std::filesystem::path> paths;
    for (int i = 0; i < 200; ++i) {
        auto const file = make_file(dir.path(), "", ".png");
        REQUIRE(file);
        REQUIRE(paths.insert(file->path).second);
    }
}

TEST_CASE("new_file: the directory cannot be") {
    scratch_dir const dir;
    auto const in_the_way = dir.write("file", "x");
    for (auto const& where : {in_the_way, in_the_way / "below", std::filesystem::path("/proc/none")}) {
        auto const file = make_file(where, "", ".png");
        REQUIRE_FALSE(file);
        CHECK(file.error() == errc::io_error);
        CHECK((contains(file.error().text(), in_the_way.string()) || contains(file.error().text(), "/proc/none")));
    }
}

TEST_CASE("new_file: a directory that cannot be written") {
    // The superuser may write anywhere, but not into /proc.
    scratch_dir const dir;
    std::filesystem::permissions(dir.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    std::filesystem::path const where = ::geteuid() == 0 ? std::filesystem::path("/proc") : dir.path();
    auto const file = make_file(where, "x", ".png");
    std::filesystem::permissions(dir.path(), std::filesystem::perms::owner_all);
    REQUIRE_FALSE(file);
    CHECK(file.error() == errc::io_error);
    CHECK(contains(file.error().text(), "making the file " + where.string()));
}

TEST_CASE("new_file: a name that cannot be") {
    scratch_dir const dir;
    CHECK(make_file(dir.path(), std::string(300, 'n'), "").error() == errc::io_error);
    CHECK(make_file(dir.path(), "missing/", ".png").error() == errc::io_error);
}

TEST_CASE("new_file: a full disk") {
    new_file const full{"/dev/full", unique_fd(::open("/dev/full", O_WRONLY | O_CLOEXEC))};
    REQUIRE(full.descriptor);
    auto const written = write_all(full, "x");
    REQUIRE_FALSE(written);
    CHECK(written.error() == errc::io_error);
    CHECK(written.error().text() == "writing to /dev/full: No space left on device");
}

TEST_CASE("new_file: large texts are written whole") {
    scratch_dir const dir;
    auto const file = make_file(dir.path(), "", "");
    REQUIRE(file);
    std::string const text(9'000'000, 'z');
    REQUIRE(write_all(*file, text));
    CHECK(std::filesystem::file_size(file->path) == text.size());
}
