#include <ipybox/core/exit_status.hpp>

#include <support/catch.hpp>

#include <csignal>

using ipybox::exit_status;

TEST_CASE("exit_status: in words") {
    CHECK(to_string(exit_status{0, {}}) == "exit code 0");
    CHECK(to_string(exit_status{127, {}}) == "exit code 127");
    CHECK(to_string(exit_status{{}, SIGKILL}) == "signal 9 (SIGKILL)");
    CHECK(to_string(exit_status{{}, SIGSEGV}) == "signal 11 (SIGSEGV)");
    CHECK(to_string(exit_status{}) == "unknown cause");
}

TEST_CASE("exit_status: signals without a name") {
    CHECK(to_string(exit_status{{}, 64}) == "signal 64");
    CHECK(to_string(exit_status{{}, 9999}) == "signal 9999");
    CHECK(to_string(exit_status{{}, -1}) == "signal -1");
}

TEST_CASE("exit_status: a signal says more than a code") {
    CHECK(to_string(exit_status{0, SIGTERM}) == "signal 15 (SIGTERM)");
}

TEST_CASE("exit_status: the limit that a kernel exceeded") {
    CHECK(to_string(exit_status::exceeded_limit{exit_status::exceeded_limit::kind::memory, 3u << 20, 2u << 20}) ==
          "out of memory: it took 3 MiB with all that it had started, its limit is 2 MiB "
          "(`kernel-memory`)");
    CHECK(to_string(exit_status::exceeded_limit{exit_status::exceeded_limit::kind::processes, 70, 60}) ==
          "it had 70 processes and threads with all that it had started, its limit is 60 (`processes`)");
}
