#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <cli/orphans.hpp>

#include <unistd.h>

#include <filesystem>

using ipybox::cli::parent_of;

TEST_CASE("The parent of a process is known, whatever its name is") {
    ipybox::test::scratch_dir const dir;
    dir.write("stat", "7 (a) S 1 (b)) S 42 7 7 0");
    CHECK(parent_of(dir.path()) == 42);
    CHECK(parent_of("/proc/self") == ::getppid());
}

TEST_CASE("A process that ends while its parent is looked up has none") {
    ipybox::test::scratch_dir const dir;
    CHECK(parent_of(dir.path()) == 0);
    // A directory can be opened, and reading it fails, as it does for such a process.
    std::filesystem::create_directory(dir.path() / "stat");
    CHECK(parent_of(dir.path()) == 0);
}
