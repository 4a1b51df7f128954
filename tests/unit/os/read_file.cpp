#include <ipybox/os/new_file.hpp>
#include <ipybox/os/read_file.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <unistd.h>

#include <string>

using namespace ipybox;
using namespace ipybox::os;
using test::scratch_dir;

TEST_CASE("read_file: all bytes, up to a limit") {
    scratch_dir const dir;
    auto const bytes = std::string("a\0b\r\n", 5) + std::string(200'000, 'x');
    auto const file = make_file(dir.path(), "f", "");
    REQUIRE(file);
    REQUIRE(write_all(*file, bytes));
    CHECK(read_file(file->path, "it", no_limit) == bytes);
    CHECK(read_file(file->path, "it", bytes.size()) == bytes);
    auto const more = read_file(file->path, "the list", bytes.size() - 1);
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

TEST_CASE("read_all: to the end of a pipe") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    unique_fd const reader(ends[0]);
    unique_fd writer(ends[1]);
    REQUIRE(::write(writer.get(), "text", 4) == 4);
    writer.reset();
    CHECK(read_all(reader.get(), "it", no_limit) == "text");
}
