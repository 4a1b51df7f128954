#include <ipybox/os/read_file.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

using namespace ipybox;
using namespace ipybox::os;
using test::scratch_dir;

TEST_CASE("read_file: all bytes, up to a limit") {
    scratch_dir const dir;
    auto const bytes = std::string("a\0b\r\n", 5) + std::string(200'000, 'x');
    auto const file = dir.write("f", bytes);
    CHECK(read_file(file, "it", no_limit) == bytes);
    CHECK(read_file(file, "it", bytes.size()) == bytes);
    auto const more = read_file(file, "the list", bytes.size() - 1);
    REQUIRE_FALSE(more);
    CHECK(more.error() == errc::invalid_argument);
    CHECK(more.error().text() == "the list: it has more than 200004 bytes");
    CHECK(read_file("/dev/null", "it", 0) == "");
    CHECK(read_file("/dev/zero", "it", 1 << 20).error() == errc::invalid_argument);
}

TEST_CASE("read_file: what cannot be read is named") {
    scratch_dir const dir;
    auto const missing = read_file(dir.path() / "none", "the list", no_limit);
    REQUIRE_FALSE(missing);
    CHECK(missing.error() == errc::io_error);
    CHECK(missing.error().text() == "the list: No such file or directory");
    auto const directory = read_file(dir.path(), "the list", no_limit);
    REQUIRE_FALSE(directory);
    CHECK(directory.error().text() == "the list: Is a directory");
}

TEST_CASE("read_regular_file: nothing is waited for, whatever lies there") {
    scratch_dir const dir;
    auto const file = dir.write("file", "text");
    CHECK(read_regular_file(file, "it", 4) == "text");
    CHECK(read_regular_file(file, "it", 3).error() == errc::invalid_argument);
    auto const pipe = dir.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    std::filesystem::create_symlink(pipe, dir.path() / "link");
    for (auto const& path : {pipe, dir.path() / "link", dir.path(), std::filesystem::path("/dev/zero")}) {
        auto const refused = read_regular_file(path, "the settings", 1000);
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::invalid_argument);
        CHECK(refused.error().text() == "the settings: it is not a regular file");
    }
    auto const missing = read_regular_file(dir.path() / "none", "the settings", 1000);
    REQUIRE_FALSE(missing);
    CHECK(missing.error() == errc::io_error);
}

TEST_CASE("read_all: to the end of a pipe") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    unique_fd const reader(ends[0]);
    unique_fd writer(ends[1]);
    REQUIRE(::write(writer.get(), "text", 4) == 4);
    writer.reset();
    CHECK(read_all(reader.get(), "it", no_limit) == "text");
}
