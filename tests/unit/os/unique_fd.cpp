#include <ipybox/os/unique_fd.hpp>

#include <support/catch.hpp>

#include <fcntl.h>

#include <type_traits>
#include <utility>

namespace {

using ipybox::os::unique_fd;

int any_descriptor() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

static_assert(!std::is_copy_constructible_v<unique_fd>);
static_assert(std::is_nothrow_move_constructible_v<unique_fd>);
static_assert(!std::is_convertible_v<int, unique_fd>);

} // namespace

TEST_CASE("unique_fd: closes what it owns") {
    int number = -1;
    {
        unique_fd const fd(any_descriptor());
        number = fd.get();
        REQUIRE(fd);
        CHECK(is_open(number));
    }
    CHECK_FALSE(is_open(number));
    CHECK_FALSE(unique_fd());
}

TEST_CASE("unique_fd: moves, releases, resets") {
    unique_fd a(any_descriptor());
    int const first = a.get();
    unique_fd b(std::move(a));
    CHECK(b.get() == first);
    CHECK(is_open(first));

    unique_fd c(any_descriptor());
    int const second = c.get();
    c = std::move(b);
    CHECK(c.get() == first);
    CHECK_FALSE(is_open(second));

    auto& same = c;
    c = std::move(same);
    CHECK(c.get() == first);
    CHECK(is_open(first));

    int const loose = c.release();
    CHECK_FALSE(c);
    CHECK(is_open(loose));
    c.reset(loose);
    c.reset();
    CHECK_FALSE(is_open(loose));
    c.reset();
}

TEST_CASE("unique_fd: number 0 is a descriptor like any other") {
    unique_fd fd(0);
    CHECK(fd);
    CHECK(fd.release() == 0);
}
