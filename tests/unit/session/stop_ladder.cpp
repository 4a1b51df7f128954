#include <ipybox/session/stop_ladder.hpp>

#include <support/catch.hpp>

#include <optional>

namespace {

using namespace std::chrono_literals;
using ipybox::errc;
using ipybox::time_budget;
using ladder = ipybox::detail::stop_ladder;
using step = ladder::step;

constexpr ladder::clock::time_point start{std::chrono::hours(1)};
constexpr auto never = ladder::clock::time_point::max();

ladder make(std::optional<ladder::clock::duration> budget, ladder::clock::duration grace = 1s) {
    return {time_budget(budget, start), grace};
}

} // namespace

TEST_CASE("stop_ladder: nothing happens without a reason") {
    auto l = make(std::nullopt);
    CHECK(l.deadline() == never);
    CHECK_FALSE(l.reason());
    CHECK(l.on_time(start + 1000h) == step::none);
}

TEST_CASE("stop_ladder: interrupt, interrupt once more, kill") {
    auto l = make(10s);
    CHECK(l.deadline() == start + 10s);
    CHECK(l.on_time(start + 10s - 1ns) == step::none);
    CHECK(l.on_time(start + 10s) == step::interrupt);
    CHECK(l.reason() == errc::timed_out);
    CHECK(l.deadline() == start + 10s + ladder::repeat_after);
    CHECK(l.on_time(start + 10s + ladder::repeat_after - 1ns) == step::none);
    CHECK(l.on_time(start + 10s + ladder::repeat_after) == step::interrupt);
    CHECK(l.deadline() == start + 11s);
    CHECK(l.on_time(start + 11s - 1ns) == step::none);
    CHECK(l.on_time(start + 11s) == step::kill);
    CHECK(l.on_time(start + 12s) == step::kill);
}

TEST_CASE("stop_ladder: an end that is wanted does not wait for the budget") {
    auto l = make(10s);
    CHECK(l.end(errc::cancelled, start + 1s) == step::interrupt);
    CHECK(l.reason() == errc::cancelled);
    CHECK(l.deadline() == start + 1s + ladder::repeat_after);
}

TEST_CASE("stop_ladder: the first reason counts") {
    auto l = make(1s);
    CHECK(l.on_time(start + 1s) == step::interrupt);
    CHECK(l.end(errc::cancelled, start + 1s + 1ms) == step::none);
    CHECK(l.reason() == errc::timed_out);
    CHECK(l.deadline() == start + 1s + ladder::repeat_after); // and gives no more time

    auto other = make(1s);
    CHECK(other.end(errc::cancelled, start) == step::interrupt);
    CHECK(other.on_time(start + 900ms) == step::interrupt); // the second one, late
    CHECK(other.on_time(start + 1s) == step::kill);
    CHECK(other.reason() == errc::cancelled);
}

TEST_CASE("stop_ladder: a caller that comes late is not given steps to catch up on") {
    auto l = make(std::nullopt);
    CHECK(l.end(errc::cancelled, start) == step::interrupt);
    CHECK(l.on_time(start + 5s) == step::kill);
}

TEST_CASE("stop_ladder: a grace that is shorter than the second interrupt takes") {
    auto l = make(std::nullopt, 100ms);
    CHECK(l.end(errc::cancelled, start) == step::interrupt);
    CHECK(l.deadline() == start + 100ms);
    CHECK(l.on_time(start + 100ms) == step::kill);

    auto none = make(std::nullopt, 0ms);
    CHECK(none.end(errc::cancelled, start) == step::interrupt);
    CHECK(none.deadline() == start);
    CHECK(none.on_time(start) == step::kill);
}

TEST_CASE("stop_ladder: no budget at all") {
    auto l = make(0s);
    CHECK(l.deadline() == start);
    CHECK(l.on_time(start) == step::interrupt);
}

TEST_CASE("stop_ladder: a paused budget puts the timeout off, not the end that is wanted") {
    auto l = make(10s);
    l.budget().pause(start + 9s);
    CHECK(l.deadline() == never);
    CHECK(l.on_time(start + 100s) == step::none);
    l.budget().resume(start + 100s);
    CHECK(l.deadline() == start + 101s);
    l.budget().pause(start + 100s);
    CHECK(l.end(errc::cancelled, start + 200s) == step::interrupt);
    CHECK(l.deadline() == start + 200s + ladder::repeat_after);
}
