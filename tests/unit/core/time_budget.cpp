#include <ipybox/core/time_budget.hpp>

#include <support/catch.hpp>

using ipybox::time_budget;
using namespace std::chrono_literals;

namespace {

constexpr time_budget::clock::time_point start{std::chrono::hours(1)};
constexpr auto never = time_budget::clock::time_point::max();

} // namespace

TEST_CASE("time_budget: runs out") {
    time_budget const budget(10s, start);
    CHECK(budget.deadline() == start + 10s);
    CHECK_FALSE(budget.exhausted(start));
    CHECK_FALSE(budget.exhausted(start + 10s - 1ns));
    CHECK(budget.exhausted(start + 10s));
}

TEST_CASE("time_budget: none is for ever") {
    time_budget budget(std::nullopt, start);
    CHECK(budget.deadline() == never);
    CHECK_FALSE(budget.exhausted(start + std::chrono::hours(24 * 365 * 10)));
    budget.pause(start + 1s);
    budget.resume(start + 2s);
    CHECK(budget.deadline() == never);
}

TEST_CASE("time_budget: none left from the beginning") { CHECK(time_budget(0s, start).exhausted(start)); }

TEST_CASE("time_budget: stands still while paused") {
    time_budget budget(10s, start);
    budget.pause(start + 4s);
    CHECK(budget.deadline() == never);
    CHECK_FALSE(budget.exhausted(start + 100s));
    budget.resume(start + 100s);
    CHECK(budget.deadline() == start + 106s);
    budget.pause(start + 101s);
    budget.resume(start + 201s);
    CHECK(budget.deadline() == start + 206s);
}

TEST_CASE("time_budget: pauses nest") {
    time_budget budget(10s, start);
    budget.pause(start + 1s);
    budget.pause(start + 2s);
    budget.resume(start + 5s);
    CHECK(budget.deadline() == never);
    budget.resume(start + 8s);
    CHECK(budget.deadline() == start + 17s);
}

TEST_CASE("time_budget: a pause after the end brings no time back") {
    time_budget budget(1s, start);
    budget.pause(start + 5s);
    budget.resume(start + 6s);
    CHECK(budget.exhausted(start + 6s));
}

TEST_CASE("time_budget: all pauses together are as long as they may be, then it goes on") {
    time_budget budget(10s, start, 30s);
    budget.pause(start + 4s);
    CHECK(budget.deadline() == start + 40s); // 30 s of pause, and the 6 s that are left
    budget.resume(start + 24s);
    CHECK(budget.deadline() == start + 30s);
    budget.pause(start + 25s); // 5 s are left, and 10 s of pause
    CHECK(budget.deadline() == start + 40s);
    CHECK_FALSE(budget.exhausted(start + 40s - 1ns));
    CHECK(budget.exhausted(start + 40s));
    budget.resume(start + 37s); // 2 s of that pause count
    CHECK(budget.deadline() == start + 40s);
    budget.pause(start + 38s);
    CHECK(budget.deadline() == start + 40s);
}
