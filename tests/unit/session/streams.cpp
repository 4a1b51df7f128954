#include <ipybox/core/utf8.hpp>

#include <support/catch.hpp>
#include <support/scripted_box.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/experimental/deferred.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

std::string words(execution_stream::event const& e) {
    if (!e) return "none";
    if (auto const* chunk = std::get_if<output_chunk>(&*e)) return chunk->text;
    if (auto const* shown = std::get_if<display>(&*e)) return "display:" + std::string(to_string(shown->kind));
    if (std::holds_alternative<execution_stream::output_cleared>(*e)) return "cleared";
    return said(std::get<result<execution_result>>(*e));
}

/// The last event, with what comes before it as one text.
std::string rest(execution_stream& stream) {
    std::string all;
    while (auto const e = got(stream.async_next(asio::use_future))) all += words(e) + "|";
    return all;
}

} // namespace

TEST_CASE_METHOD(scripted_box, "stream: events in order, the result last") {
    script()
        .expect("a")
        .prints("one")
        .prints("err", "stderr")
        .shows({{"text/plain", "d"}}, "execute_result")
        .sends({jupyter::message::channel::iopub, "clear_output", {{"wait", true}}})
        .prints("two")
        .replies();
    auto stream = (*this)->stream("a");
    CHECK(rest(stream) == "one|err|display:execute_result|cleared|two|two|");
    CHECK_FALSE(stream.next());
}

TEST_CASE_METHOD(scripted_box, "stream: a clearing is told when it takes effect") {
    jupyter::message const at_once(jupyter::message::channel::iopub, "clear_output", {{"wait", false}});
    jupyter::message const later(jupyter::message::channel::iopub, "clear_output", {{"wait", true}});
    script().expect("never").prints("a").sends(later).replies();
    script().expect("display").prints("a").sends(later).sends(later).shows({{"text/plain", "d"}}).prints("b").replies();
    script().expect("at once").prints("a").sends(at_once).replies();
    auto unused = (*this)->stream("never");
    CHECK(rest(unused) == "a|a|");
    auto display = (*this)->stream("display");
    CHECK(rest(display) == "a|cleared|display:display_data|b|d\nb|");
    auto now = (*this)->stream("at once");
    CHECK(rest(now) == "a|cleared||");
}

TEST_CASE_METHOD(scripted_box, "stream: large text comes whole and in its order") {
    constexpr std::size_t slice = std::size_t(1) << 20;
    for (auto const size : {slice - 1, slice, slice + 1, 3 * slice + 5}) {
        std::string text(size % 2, 'x');
        while (text.size() < size) text += "é";
        script().expect("a").prints("before").prints(text).prints("behind").replies();
        auto stream = (*this)->stream("a");
        std::string all;
        for (auto e = got(stream.async_next(asio::use_future)); e; e = got(stream.async_next(asio::use_future))) {
            if (auto const* chunk = std::get_if<output_chunk>(&*e)) {
                CHECK(is_utf8(chunk->text));
                all += chunk->text;
            }
        }
        CHECK((all == "before" + text + "behind"));
    }
}

TEST_CASE_METHOD(scripted_box, "stream: a large display comes in its order, with its text") {
    std::string const text(3'000'000, 'd');
    jupyter::message const later(jupyter::message::channel::iopub, "clear_output", {{"wait", true}});
    script().expect("a").prints("gone").sends(later).shows({{"text/plain", text}}).prints("behind").replies();
    auto stream = (*this)->stream("a");
    CHECK((rest(stream) == "gone|cleared|display:display_data|behind|" + text + "\nbehind|"));
}

TEST_CASE_METHOD(scripted_box, "stream: without chunks") {
    script().expect("a").prints("one").shows({{"text/plain", "d"}}).replies();
    auto stream = (*this)->stream("a", {.chunks = false});
    CHECK(rest(stream) == "display:display_data|one\nd|");
}

TEST_CASE_METHOD(scripted_box, "stream: several at once take their turns") {
    script().expect("a").prints("A").replies();
    script().expect("b").prints("B").replies();
    auto a = (*this)->stream("a");
    auto b = (*this)->stream("b");
    CHECK(rest(b) == "B|B|");
    CHECK(rest(a) == "A|A|");
}

TEST_CASE_METHOD(scripted_box, "stream: errors are the last event") {
    script().expect("a").prints("x").raises("E", "v");
    script().expect("loop").waits_for_interrupt().raises("KeyboardInterrupt", "");
    script().expect("die").dies({1, {}});
    auto a = (*this)->stream("a");
    CHECK(rest(a) == "x|<the code raised an exception>|");
    auto loop = (*this)->stream("loop", {.timeout = 1ms});
    CHECK(rest(loop) == "<the time budget of the call ran out>|");
    auto die = (*this)->stream("die");
    CHECK(rest(die) == "<the kernel process ended>|");
}

TEST_CASE_METHOD(scripted_box, "stream: one that is dropped ends its code, or never starts it") {
    script().expect("loop").prints("x").waits_for_interrupt().raises("KeyboardInterrupt", "");
    script().expect("next").prints("fine").replies();
    {
        auto const loop = (*this)->stream("loop");
        auto const unread = (*this)->stream("never");
        REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    }
    CHECK(run("next") == "fine");
    CHECK((*this)->stop());
    CHECK(script().interrupts() == 1);
}

TEST_CASE_METHOD(scripted_box, "stream: assigned over, the old one ends") {
    script().expect("loop").waits_for_interrupt().raises("KeyboardInterrupt", "");
    script().expect("b").prints("B").replies();
    auto stream = (*this)->stream("loop");
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    stream = (*this)->stream("b");
    CHECK(rest(stream) == "B|B|");
}

TEST_CASE_METHOD(scripted_box, "stream: outlives its executor") {
    script().expect("loop").prints("x").waits_for_interrupt();
    auto running = (*this)->stream("loop");
    auto waiting = (*this)->stream("waits");
    CHECK(words(running.next()) == "x");
    drop();
    CHECK(words(running.next()) == not_running);
    CHECK_FALSE(running.next());
    CHECK(rest(waiting) == not_running + "|");
}

TEST_CASE_METHOD(scripted_box, "stream: cancel and reset end it") {
    script().expect("loop").prints("x").waits_for_interrupt().raises("KeyboardInterrupt", "");
    auto cancelled_one = (*this)->stream("loop");
    CHECK(words(cancelled_one.next()) == "x");
    (*this)->cancel();
    CHECK(rest(cancelled_one) == cancelled + "|");

    script().expect("loop").prints("x").waits_for_interrupt();
    auto reset_one = (*this)->stream("loop");
    CHECK(words(reset_one.next()) == "x");
    REQUIRE((*this)->reset());
    CHECK(rest(reset_one) == cancelled + "|");
}

TEST_CASE_METHOD(scripted_box, "stream: a cancelled next loses no event") {
    script().expect("loop").waits_for_interrupt().prints("x").replies();
    auto stream = (*this)->stream("loop");
    asio::cancellation_signal signal;
    std::promise<bool> none;
    stream.async_next(
        asio::bind_cancellation_slot(signal.slot(), [&](execution_stream::event const& e) { none.set_value(!e); }));
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    signal.emit(asio::cancellation_type::terminal);
    CHECK(got(none.get_future()));
    REQUIRE((*this)->interrupt());
    CHECK(rest(stream) == "x|x|");
    auto later = stream.async_next(asio::experimental::deferred);
    CHECK_FALSE(got(std::move(later)(asio::use_future)));
}

TEST_CASE_METHOD(scripted_box, "stream: a loop that would have to serve itself ends, and the execution goes on") {
    script().expect("loop").waits_for_interrupt().prints("x").replies();
    std::optional<execution_stream> stream;
    std::promise<std::string> seen;
    (*this)->async_start([&](result<void> const&) {
        stream.emplace((*this)->stream("loop"));
        std::string all;
        for (int i = 0; i < 100; ++i) {
            auto const e = stream->next();
            all += words(e) + "|";
            if (!e) break;
        }
        seen.set_value(all);
    });
    CHECK(got(seen.get_future()) == "<a blocking call was made from the thread that would have to serve it; call the "
                                    "async_ operation, or block on another thread>|none|");
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    REQUIRE((*this)->interrupt());
    CHECK(words(stream->next()) == "x"); // here it can wait
    CHECK(rest(*stream) == "x|");
}

TEST_CASE_METHOD(scripted_box, "stream: one that was moved from has no events") {
    script().expect("a").prints("x").replies();
    auto first = (*this)->stream("a");
    auto second = std::move(first);
    CHECK_FALSE(first.next()); // NOLINT(bugprone-use-after-move)
    auto next = first.async_next(asio::experimental::deferred);
    CHECK_FALSE(got(std::move(next)(asio::use_future)));
    first = std::move(second);
    CHECK_FALSE(second.next()); // NOLINT(bugprone-use-after-move)
    CHECK(rest(first) == "x|x|");
}

TEST_CASE_METHOD(scripted_box, "stream: assigned to itself it goes on") {
    script().expect("a").prints("A").replies();
    auto stream = (*this)->stream("a");
    auto& same = stream;
    stream = std::move(same);
    CHECK(rest(stream) == "A|A|");
}

TEST_CASE_METHOD(scripted_box, "stream: who does not read holds the kernel up, not the executor") {
    std::string const part(std::size_t(1) << 20, 'x');
    auto& flood = script().expect("flood");
    for (int i = 0; i < 32; ++i) flood.prints(part).prints("-", "stderr");
    flood.replies();
    auto stream = (*this)->stream("flood");
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    std::size_t bytes = 0;
    std::string last;
    while (auto const e = got(stream.async_next(asio::use_future))) {
        if (auto const* chunk = std::get_if<output_chunk>(&*e))
            bytes += chunk->text.size();
        else
            last = words(e);
    }
    CHECK(bytes == 32 * (part.size() + 1));
    CHECK(last.size() == bytes);
}

TEST_CASE_METHOD(scripted_box, "stream: a timeout comes although nobody reads") {
    std::string const part(std::size_t(1) << 20, 'x');
    auto& flood = script().expect("flood");
    for (int i = 0; i < 16; ++i) flood.prints(part).prints("-", "stderr");
    flood.waits_for_interrupt().prints("the end").raises("KeyboardInterrupt", "");
    script().expect("next").prints("fine").replies();
    auto stream = (*this)->stream("flood", {.timeout = 50ms});
    CHECK(run("next") == "fine");
    std::optional<error> why;
    while (auto e = got(stream.async_next(asio::use_future)))
        if (auto* end = std::get_if<result<execution_result>>(&*e); end && !*end) why = end->error();
    REQUIRE(why);
    CHECK(*why == condition::timeout);
    REQUIRE(why->output());
    CHECK(why->output()->text.size() == 16 * (part.size() + 1) + 7); // the result has what events had to leave out
}

TEST_CASE_METHOD(scripted_box, "stream: one that is full is cancelled and reset like any other") {
    std::string const part(std::size_t(1) << 20, 'x');
    for (auto const* after : {"between", "next"}) {
        auto& flood = script().expect("flood");
        for (int n = 0; n < 16; ++n) flood.prints(part).prints("-", "stderr");
        flood.waits_for_interrupt().raises("KeyboardInterrupt", "");
        script().expect(after).prints("fine").replies();
    }
    auto first = (*this)->stream("flood");
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    (*this)->cancel();
    CHECK(run("between") == "fine");
    auto second = (*this)->stream("flood");
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    REQUIRE((*this)->reset());
    CHECK(run("next") == "fine");
}

TEST_CASE_METHOD(scripted_box, "stream: input is asked for behind what was printed") {
    script().expect("ask").prints("before").asks("? ").prints("after").replies();
    std::string order;
    auto stream = (*this)->stream("ask", {.on_input = [&](input_request const& q) {
                                      order += q.prompt();
                                      q.reply("x");
                                  }});
    CHECK(words(stream.next()) == "before");
    CHECK(rest(stream) == "after|beforeafter|");
    CHECK(order == "? ");
}
