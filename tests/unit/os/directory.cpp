#include <ipybox/os/directory.hpp>
#include <ipybox/os/new_file.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>

#include <filesystem>
#include <string>

using namespace ipybox;
using namespace ipybox::os;
using test::contains;
using test::scratch_dir;

TEST_CASE("directory: is made with those above it, and below its root no link is followed, above it links are") {
    scratch_dir const dir;
    auto const real = dir.path() / "real";
    auto const root = dir.path() / "root";
    std::filesystem::create_directories(real);
    std::filesystem::create_directories(root);
    std::filesystem::create_directory_symlink(real, dir.path() / "link");
    std::filesystem::create_directory_symlink(real, root / "link");

    REQUIRE(directory::make(root / "a" / "b" / "c", root));
    CHECK(std::filesystem::is_directory(root / "a" / "b" / "c"));
    REQUIRE(directory::make(root, root));
    for (auto const& path : {root / "link", root / "link" / "below"}) {
        auto const refused = directory::make(path, root);
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::io_error);
        CHECK(contains(refused.error().text(), (root / "link").string() + " is a symbolic link"));
    }
    CHECK(std::filesystem::is_empty(real));

    REQUIRE(directory::make(dir.path() / "link" / "below", root)); // the link is the caller's
    CHECK(std::filesystem::is_directory(real / "below"));
    CHECK_FALSE(directory::make(dir.path() / "link", root)); // not as the last name
    CHECK_FALSE(directory::make(root / ".." / "root" / "link", root));
}

TEST_CASE("directory: a file of a link's name is not written") {
    scratch_dir const dir;
    auto const at = directory::open(dir.path());
    REQUIRE(at);
    auto const file = make_file(*at, "s-", ".txt");
    REQUIRE(file);
    at->remove(file->path.filename().string());
    CHECK_FALSE(std::filesystem::exists(file->path));
    CHECK_FALSE(directory::open(dir.path() / "none"));
}

TEST_CASE("directory_to_make: is made below what was open before, however often it is asked for") {
    scratch_dir const dir;
    auto const root = dir.path() / "root";
    directory_to_make early(root / "x" / "y", root);
    CHECK_FALSE(std::filesystem::exists(root)); // nothing is made yet
    auto const first = early.get();
    REQUIRE(first);
    CHECK(std::filesystem::is_directory(root / "x" / "y"));
    auto const second = early.get();
    REQUIRE(second);
    CHECK(*first == *second);

    directory_to_make none("/proc/no/such/place", root);
    auto const refused = none.get();
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::io_error);
}
