#include <ipybox/os/file_identity.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <filesystem>

using namespace ipybox;
using os::identity_of;
namespace fs = std::filesystem;

TEST_CASE("file_identity: the same file by any name, and no other") {
    test::scratch_dir const dir;
    auto const root = fs::canonical(dir.path());
    auto const file = root / "sub/file";
    dir.write("sub/file", "x");
    dir.write("other", "x");
    auto const known = identity_of(file);
    REQUIRE(known);
    CHECK(known->path == file);
    CHECK(identity_of(file) == known);
    CHECK(identity_of(root / "other")->inode != known->inode);
    fs::rename(root / "sub", root / "moved");
    auto const moved = identity_of(root / "moved/file");
    REQUIRE(moved);
    CHECK(moved->inode == known->inode);
    CHECK(moved->device == known->device);
}

TEST_CASE("file_identity: a path that is missing or goes through a link has none") {
    test::scratch_dir const dir;
    auto const root = fs::canonical(dir.path());
    dir.write("sub/file", "x");
    fs::create_directory_symlink("sub", root / "link");
    fs::create_symlink("sub/file", root / "end");
    CHECK(identity_of(root / "sub/"));
    CHECK(identity_of("/"));
    for (auto const* name : {"none", "none/file", "link", "link/file", "end", "sub/file/x"}) {
        INFO(name);
        CHECK_FALSE(identity_of(root / name));
    }
}
