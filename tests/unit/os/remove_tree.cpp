#include <ipybox/os/remove_tree.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;
using ipybox::os::remove_tree;
using ipybox::test::scratch_dir;

/// Directories within each other, deeper than paths can be long and than a process can have descriptors.
void make_deep(fs::path const& top, int depth) {
    int at = ::open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < depth; ++i) {
        REQUIRE(::mkdirat(at, "d", 0700) == 0);
        int const below = ::openat(at, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
        ::close(at);
        at = below;
    }
    ::close(at);
}

/// An ordinary user, also where the tests run as root.
class ordinary_user {
  public:
    ordinary_user() { REQUIRE((::geteuid() != 0 || ::seteuid(nobody) == 0)); }
    ordinary_user(ordinary_user const&) = delete;
    ~ordinary_user() { (void)!::seteuid(::getuid()); }

  private:
    static constexpr ::uid_t nobody = 65534;
};

} // namespace

TEST_CASE("remove_tree: files, links and directories") {
    scratch_dir const dir;
    auto const top = dir.path() / "top";
    auto const outside = dir.path() / "outside";
    fs::create_directories(top / "a" / "b" / "c");
    fs::create_directories(top / "ipybox-removes-1" / "d");
    fs::create_directories(outside);
    std::ofstream{outside / "kept"};
    std::ofstream{top / "a" / "b" / "file"};
    fs::create_directory_symlink(outside, top / "a" / "link");
    fs::create_directory_symlink(outside, top / "a" / "b" / "link");
    CHECK(remove_tree(top));
    CHECK_FALSE(fs::exists(fs::symlink_status(top)));
    CHECK(fs::exists(outside / "kept"));
}

TEST_CASE("remove_tree: a link to a directory and a directory that is not there") {
    scratch_dir const dir;
    fs::create_directories(dir.path() / "target" / "below");
    fs::create_directory_symlink(dir.path() / "target", dir.path() / "link");
    CHECK_FALSE(remove_tree(dir.path() / "link"));
    CHECK(fs::exists(dir.path() / "target" / "below"));
    CHECK(remove_tree(dir.path() / "missing"));
}

TEST_CASE("remove_tree: directories within each other, deeper than descriptors go") {
    scratch_dir const dir;
    auto const top = dir.path() / "top";
    fs::create_directories(top / "a");
    make_deep(top / "a", 5000);
    CHECK(remove_tree(top));
    CHECK_FALSE(fs::exists(top));
}

TEST_CASE("remove_tree: what its owner may not read or change") {
    ordinary_user const user;
    std::string name = "/tmp/remove_tree-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    fs::path const top = name;
    fs::create_directories(top / "a" / "b" / "c");
    std::ofstream{top / "a" / "b" / "c" / "file"};
    for (auto const* closed : {"a/b/c", "a/b", "a", ""}) REQUIRE(::chmod((top / closed).c_str(), 0) == 0);
    CHECK(remove_tree(top));
    CHECK_FALSE(fs::exists(top));
}
