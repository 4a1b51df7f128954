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

TEST_CASE("stop_ladder: a kernel that says nothing has the bound of one that was not reached") {
    auto l = make(10s);
    CHECK(l.deadline() == start + 10s);
    CHECK(l.on_time(start + 10s - 1ns) == step::none);
    CHECK(l.on_time(start + 10s) == step::interrupt);
    CHECK(l.reason() == errc::timed_out);
    CHECK(l.deadline() == start + 11s);
    CHECK(l.on_time(start + 11s - 1ns) == step::none);
    CHECK(l.on_time(start + 11s) == step::interrupt);
    CHECK(l.deadline() == start + 15s);
    CHECK(l.on_time(start + 15s - 1ns) == step::none);
    CHECK(l.on_time(start + 15s) == step::kill);
    CHECK(l.on_time(start + 16s) == step::kill);
}

TEST_CASE("stop_ladder: the grace counts from when the code has been told") {
    auto l = make(10s);
    CHECK(l.on_time(start + 10s) == step::interrupt);
    auto const told = start + 13s;
    CHECK(l.on_time(start + 11s) == step::interrupt); // perhaps it was lost
    l.told(told);
    CHECK(l.deadline() == told + ladder::repeat_after);
    CHECK(l.on_time(told + ladder::repeat_after - 1ns) == step::none);
    CHECK(l.on_time(told + ladder::repeat_after) == step::interrupt);
    CHECK(l.deadline() == told + 1s);
    l.told(told + 500ms); // of the second one: gives no more time
    CHECK(l.deadline() == told + 1s);
    CHECK(l.on_time(told + 1s) == step::kill);
}

TEST_CASE("stop_ladder: code that is told late has no more time than code that is never told") {
    auto l = make(std::nullopt);
    CHECK(l.end(errc::cancelled, start) == step::interrupt);
    l.told(start + 4900ms);
    CHECK(l.deadline() == start + 5s);
    CHECK(l.on_time(start + 5s) == step::kill);
}

TEST_CASE("stop_ladder: the clock stops when the code has ended") {
    auto l = make(std::nullopt);
    CHECK(l.end(errc::cancelled, start) == step::interrupt);
    l.told(start + 1ms);
    auto const ended = start + 2ms;
    l.code_ended(ended);
    CHECK(l.deadline() == ended + ladder::finish_within / 2);
    CHECK(l.on_time(start + 1s) == step::none);
    l.told(ended + 1s);                                                     // late
    l.code_ended(ended + 4s);                                               // once more: gives no more time
    CHECK(l.on_time(ended + ladder::finish_within / 2) == step::interrupt); // callbacks of the code's
    CHECK(l.deadline() == ended + ladder::finish_within);
    CHECK(l.on_time(ended + ladder::finish_within) == step::kill);
}

TEST_CASE("stop_ladder: what a kernel says of an interrupt that was not the ladder's does not count") {
    auto l = make(10s);
    l.told(start + 1s);
    l.code_ended(start + 2s);
    CHECK(l.deadline() == start + 10s);
    CHECK(l.on_time(start + 10s) == step::interrupt);
    CHECK(l.deadline() == start + 11s);
}

TEST_CASE("stop_ladder: an end that is wanted does not wait for the budget") {
    auto l = make(10s);
    CHECK(l.end(errc::cancelled, start + 1s) == step::interrupt);
    CHECK(l.reason() == errc::cancelled);
    CHECK(l.deadline() == start + 2s);
}

TEST_CASE("stop_ladder: the first reason counts") {
    auto l = make(1s);
    CHECK(l.on_time(start + 1s) == step::interrupt);
    CHECK(l.end(errc::cancelled, start + 1s + 1ms) == step::none);
    CHECK(l.reason() == errc::timed_out);
    CHECK(l.deadline() == start + 2s); // and gives no more time

    auto other = make(1s);
    CHECK(other.end(errc::cancelled, start) == step::interrupt);
    other.told(start);
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
    l.told(start);
    CHECK(l.deadline() == start + 100ms);
    CHECK(l.on_time(start + 100ms) == step::kill);

    auto none = make(std::nullopt, 0ms);
    CHECK(none.end(errc::cancelled, start) == step::interrupt);
    CHECK(none.deadline() == start);
    CHECK(none.on_time(start) == step::kill);
}

TEST_CASE("stop_ladder: the longest grace there is") {
    auto l = make(std::nullopt, std::chrono::hours(10 * 365 * 24));
    CHECK(l.end(errc::cancelled, start) == step::interrupt);
    CHECK(l.on_time(start + 1h) == step::interrupt);
    CHECK(l.on_time(start + 1000h) == step::none);
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
    CHECK(l.deadline() == start + 201s);
}
