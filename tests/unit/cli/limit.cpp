#include <support/catch.hpp>

#include <cli/limit.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace {

using ipybox::sandbox_limits;
using ipybox::cli::set_limit;

sandbox_limits with(std::string const& text) {
    sandbox_limits limits;
    REQUIRE(set_limit(limits, text));
    return limits;
}

std::string refusal(std::string const& text) {
    sandbox_limits limits;
    auto const set = set_limit(limits, text);
    REQUIRE_FALSE(set);
    return set.error().text();
}

} // namespace

TEST_CASE("set_limit: sizes, counts and times") {
    CHECK(with("memory=4G").memory == std::uint64_t{4} << 30);
    CHECK(with("memory=512M").memory == std::uint64_t{512} << 20);
    CHECK(with("kernel-memory=3G").kernel_memory == std::uint64_t{3} << 30);
    CHECK(with("file-size=100").file_size == 100);
    CHECK(with("file-size=2T").file_size == std::uint64_t{2} << 40);
    CHECK(with("processes=500").processes == 500);
    CHECK(with("open-files=64").open_files == 64);
    CHECK(with("cpu-time=60").cpu_time == std::chrono::seconds(60));
}

TEST_CASE("set_limit: none takes a limit away, and leaves the others") {
    CHECK(with("memory=none").memory == std::nullopt);
    CHECK(with("memory=none").processes == sandbox_limits().processes);
    CHECK(with("processes=none").processes == std::nullopt);
}

TEST_CASE("set_limit: what it does not understand is told with what it does") {
    CHECK(refusal("memory=4GB") == "'memory=4GB' is no limit: write a number of bytes, as in memory=4G, or none");
    CHECK(refusal("kernel-memory=much").find("a number of bytes, as in kernel-memory=4G, or none") !=
          std::string::npos);
    CHECK(refusal("memory=-1").find("a number of bytes") != std::string::npos);
    CHECK(refusal("memory=0").find("a number of bytes") != std::string::npos);
    CHECK(refusal("memory").find("a number of bytes") != std::string::npos);
    CHECK(refusal("memory=16777216T").find("a number of bytes") != std::string::npos);
    CHECK(refusal("processes=1K").find("a number of at least 1") != std::string::npos);
    CHECK(refusal("cpu-time=1.5").find("whole seconds") != std::string::npos);
    CHECK(refusal("disk=1G").find("there are memory, kernel-memory, processes, cpu-time, file-size and open-files") !=
          std::string::npos);
    CHECK(refusal("").find("there are memory") != std::string::npos);
}
