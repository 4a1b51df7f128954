#include <ipybox/kernel/cache_directory.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <filesystem>

using namespace ipybox;
using ipybox::detail::make_cache_directory;

TEST_CASE("cache_directory: a new one, an empty one, and one that was made before") {
    test::scratch_dir const dir;
    auto const work = dir.path() / "work";
    auto const caches = dir.path() / "a/b";
    CHECK(make_cache_directory({}, work));
    for (int i = 0; i < 2; ++i) {
        REQUIRE(make_cache_directory(caches, work));
        CHECK(std::filesystem::exists(caches / "CACHEDIR.TAG"));
        std::filesystem::create_directories(caches / "cache/torch");
    }
    CHECK(make_cache_directory(work / ".cache", work));
    CHECK_FALSE(std::filesystem::exists(work)); // code makes it itself
}

TEST_CASE("cache_directory: none that others use") {
    test::scratch_dir const dir;
    (void)dir.write("used/bin/tool", "#!/bin/sh");
    (void)dir.write("marked/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n# of another program\n");
    std::filesystem::create_directory(dir.path() / "empty");
    std::filesystem::create_symlink(dir.path() / "empty", dir.path() / "link");
    for (auto const* const name : {"used", "marked", "link"}) {
        INFO(name);
        auto const refused = make_cache_directory(dir.path() / name, "/work");
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::invalid_argument);
        CHECK(refused.error().text().find("name a new directory") != std::string::npos);
    }
    (void)dir.write("file", "");
    CHECK(make_cache_directory(dir.path() / "file/x", "/work").error() == errc::io_error);
}
