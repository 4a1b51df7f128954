#include <support/catch.hpp>
#include <support/child.hpp>
#include <support/contains.hpp>
#include <support/files.hpp>
#include <support/scripted_box.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

constexpr auto long_enough = 30s;

/// The text of a job that has ended, or its error.
std::string ended(job const& j) { return j.wait(long_enough) ? said(j.result()) : "<it did not end>"; }

bool runs(job const& j) {
    return eventually([&] { return j.state() == job::stage::running; });
}

} // namespace

TEST_CASE_METHOD(scripted_box, "job: waits its turn, runs, and ends with its result") {
    script().expect("a").prints("one").waits_for_interrupt().prints(" two").replies();
    script().expect("b").prints("three").raises("ValueError", "no");
    script().expect("c").shows({{"text/plain", "42"}}).replies();
    auto const a = (*this)->submit("a");
    auto const b = (*this)->submit("b");
    auto const c = (*this)->submit("c");
    CHECK(a.id() == "1");
    CHECK(b.id() == "2");
    CHECK(a == job(a));
    CHECK_FALSE(a == b);
    REQUIRE(runs(a));
    CHECK(b.state() == job::stage::waiting);
    CHECK(b.output().end == 0);
    CHECK_FALSE(a.wait(1ms));
    CHECK(a.result().error() == errc::still_running);
    CHECK(a.result().error().text().find("job 1 ") != std::string::npos);
    REQUIRE(eventually([&] { return a.output().text == "one"; }));

    a.interrupt();
    CHECK(ended(a) == "one two");
    CHECK(a.state() == job::stage::ended);
    CHECK(a.output().text == "one two");
    CHECK(said(a.result()) == "one two"); // again
    REQUIRE(b.wait(long_enough));
    CHECK(b.result().error() == errc::python_error);
    CHECK(b.result().error().exception()->ename == "ValueError");
    CHECK(b.result().error().output()->text == "three");
    CHECK(b.output().text == "three");
    CHECK(ended(c) == "42");
    CHECK(c.output().text == "42\n");
    CHECK(c.result()->displays.size() == 1);
    CHECK(c.wait(0ms));
    CHECK(c.wait(-1ms));
}

TEST_CASE_METHOD(scripted_box, "job: an interrupt is for the one that runs") {
    script().expect("a").prints("a").waits_for_interrupt().replies();
    script().expect("b").prints("b").replies();
    auto const a = (*this)->submit("a");
    auto const b = (*this)->submit("b");
    REQUIRE(runs(a));
    b.interrupt();
    CHECK_FALSE(a.wait(20ms));
    a.interrupt();
    CHECK(ended(b) == "b");
    a.interrupt();
    b.interrupt();
    b.cancel();
    CHECK(said(b.result()) == "b");
    CHECK(said((*this)->start()) == "ok"); // behind what was asked for
    CHECK(script().interrupts() == 1);
}

TEST_CASE_METHOD(scripted_box, "job: one of several is cancelled") {
    script().expect("a").prints("a").waits_for_interrupt().raises("KeyboardInterrupt", "");
    script().expect("c").prints("c").replies();
    auto const a = (*this)->submit("a");
    auto const b = (*this)->submit("never");
    auto const c = (*this)->submit("c");
    REQUIRE(eventually([&] { return a.output().end == 1; }));
    b.cancel();
    CHECK(ended(b) == cancelled);
    CHECK_FALSE(b.result().error().output());
    CHECK(a.state() == job::stage::running);
    a.cancel();
    CHECK(ended(a) == cancelled);
    CHECK(a.result().error().output()->text == "a");
    CHECK(a.output().text == "a");
    CHECK(ended(c) == "c");
}

TEST_CASE_METHOD(scripted_box, "job: is cancelled with all others, timed, and asks for input") {
    script().expect("a").prints("a").waits_for_interrupt().raises("KeyboardInterrupt", "");
    script().expect("b").prints("b").waits_for_interrupt().raises("KeyboardInterrupt", "");
    script().expect("c").asks("name? ").prints("thanks").replies();
    auto const a = (*this)->submit("a");
    auto const waits = (*this)->submit("never");
    REQUIRE(runs(a));
    (*this)->cancel();
    CHECK(ended(a) == cancelled);
    CHECK(ended(waits) == cancelled);
    auto const b = (*this)->submit("b", {.timeout = 20ms});
    REQUIRE(b.wait(long_enough));
    CHECK(b.result().error() == condition::timeout);
    CHECK(b.result().error().output()->text == "b");
    auto const c = (*this)->submit("c", {.on_input = [](input_request const& r) { r.reply("Ann"); }});
    CHECK(ended(c) == "thanks");
    CHECK(script().inputs() == std::vector<std::string>{"Ann"});
}

TEST_CASE_METHOD(scripted_box, "job: goes on without handles, and keeps nothing then") {
    script().expect("a").prints("a").waits_for_interrupt().replies();
    script().expect("b").prints("b").replies();
    { auto const dropped = (*this)->submit("a"); }
    auto const b = (*this)->submit("b");
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    REQUIRE((*this)->interrupt());
    CHECK(ended(b) == "b");
}

TEST_CASE_METHOD(scripted_box, "job: of a kernel that dies keeps what was printed") {
    script().expect("a").prints("last words").dies({{}, 9});
    auto const a = (*this)->submit("a");
    auto const b = (*this)->submit("never");
    REQUIRE(a.wait(long_enough));
    CHECK(a.result().error() == errc::kernel_died);
    CHECK(a.result().error().output()->text == "last words");
    CHECK(a.output().text == "last words");
    REQUIRE(b.wait(long_enough));
    CHECK(b.result().error() == errc::kernel_died);
}

TEST_CASE_METHOD(scripted_box, "job: outlives its executor", "[tsan]") {
    script().expect("a").prints("a").waits_for_interrupt();
    auto const a = (*this)->submit("a");
    auto const b = (*this)->submit("never");
    REQUIRE(eventually([&] { return a.output().end == 1; }));
    auto waiting = a.async_wait(long_enough, asio::use_future);
    std::atomic<bool> came = false;
    std::thread blocked([b, &came] { came = b.wait(long_enough); });
    drop();
    CHECK(got(std::move(waiting)));
    blocked.join();
    CHECK(came);
    CHECK(ended(a) == not_running);
    CHECK(ended(b) == not_running);
    CHECK(a.result().error().output()->text == "a");
    CHECK(a.output().text == "a");
    a.interrupt();
    a.cancel();
    CHECK(got(b.async_wait(long_enough, asio::use_future)));
}

TEST_CASE_METHOD(scripted_box, "job: of an executor that is closed or was moved from has ended") {
    auto const moved = std::move(**this);
    auto const a = (*this)->submit("a"); // NOLINT(bugprone-use-after-move)
    CHECK(a.state() == job::stage::ended);
    CHECK(ended(a) == not_running);
}

TEST_CASE_METHOD(scripted_box, "job: output by position") {
    // The second letter has two bytes, the fourth three, the fifth four.
    script().expect("a").prints("aäb€😀").waits_for_interrupt().prints("!").replies();
    auto const a = (*this)->submit("a");
    REQUIRE(eventually([&] { return a.output().end == 11; }));
    auto const is = [&](std::uint64_t from, std::uint64_t to, std::string const& text, std::uint64_t begin) {
        auto const part = a.output(from, to);
        return part.text == text && part.from == begin && part.to == begin + text.size() && part.end == 11 &&
               part.left_out == 0 && part.spill_file.empty();
    };
    CHECK(is(0, job::npos, "aäb€😀", 0));
    CHECK(is(0, 0, "", 0));
    CHECK(is(1, 3, "ä", 1));
    CHECK(is(2, 3, "ä", 1)); // from within a character
    CHECK(is(1, 2, "", 1));  // to within one
    CHECK(is(0, 2, "a", 0));
    CHECK(is(0, 6, "aäb", 0));
    CHECK(is(6, 8, "€", 4));
    CHECK(is(10, 99, "😀", 7));
    CHECK(is(11, job::npos, "", 11));
    CHECK(is(500, job::npos, "", 11));
    CHECK(is(7, 4, "", 7));
    // Neighbouring windows have each character once, wherever they begin.
    for (std::uint64_t width = 1; width < 12; ++width) {
        std::string all;
        for (std::uint64_t from = 0; from < 11; from += width) all += a.output(from, from + width).text;
        CHECK(all == "aäb€😀");
    }
    a.interrupt();
    CHECK(ended(a) == "aäb€😀!");
    CHECK(a.output(11).text == "!");
}

TEST_CASE_METHOD(scripted_box, "job: output that is cleared leaves positions as they are") {
    script()
        .expect("a")
        .prints("10%")
        .sends({jupyter::message::channel::iopub, "clear_output", {{"wait", true}}})
        .prints("20%")
        .replies();
    auto const a = (*this)->submit("a");
    CHECK(ended(a) == "20%");
    auto const part = a.output();
    CHECK(part.text == "20%");
    CHECK(part.from == 3);
    CHECK(part.to == 6);
    CHECK(part.end == 6);
    CHECK(a.output(4, 5).text == "0");
}

TEST_CASE_METHOD(scripted_box, "job: output beyond the bound has head and tail, and says what is left out") {
    adapt([](executor_options& o) { o.output.max_memory = 100; });
    std::string whole;
    auto& talks = script().expect("a");
    for (int i = 0; i < 1000; ++i) {
        auto const line = std::to_string(100000 + i) + "\n";
        talks.prints(line);
        whole += line;
    }
    talks.waits_for_interrupt().replies();
    auto const a = (*this)->submit("a");
    // What is printed can be read before it is in the file.
    REQUIRE(eventually([&] { return a.output().end == 7000 && read_file(a.output().spill_file) == whole; }));
    for (bool const at_the_end : {false, true}) {
        CAPTURE(at_the_end);
        auto const all = a.output();
        CHECK(all.from == 0);
        CHECK(all.to == 7000);
        CHECK(all.left_out >= 7000 - 125);
        CHECK(all.left_out <= 7000 - 100);
        REQUIRE_FALSE(all.spill_file.empty());
        CHECK(read_file(all.spill_file) == whole);
        auto const notice = "\n[… " + std::to_string(all.left_out) + " bytes left out; the whole output is in " +
                            all.spill_file.string() + " …]\n";
        auto const tail = whole.substr(50 + all.left_out);
        CHECK(all.text == whole.substr(0, 50) + notice + tail);
        CHECK(all.gap_begin == 50);
        CHECK(all.gap_end == 50 + notice.size());
        CHECK(all.behind_gap == 50 + all.left_out);
        CHECK(a.output(0, 50).text == whole.substr(0, 50));
        CHECK(a.output(0, 50).left_out == 0);
        CHECK(a.output(6990).text == whole.substr(6990));
        auto const within = a.output(3000, 3100);
        CHECK(within.left_out == 100);
        CHECK(within.to == 3100);
        CHECK(contains(within.text, "[… 100 bytes left out; the whole output is in "));
        CHECK(a.output(40, 51).text.starts_with(whole.substr(40, 10) + "\n[… 1 bytes left out"));
        if (at_the_end) break;
        a.interrupt();
        REQUIRE(a.wait(long_enough));
    }
    auto const result = a.result();
    REQUIRE(result);
    CHECK(result->spill_file == a.output().spill_file);
    CHECK(contains(result->text, " bytes left out; the whole output is in "));
    CHECK(result->text.starts_with("100000\n"));
    CHECK(result->text.ends_with("\n100999"));
}

TEST_CASE_METHOD(scripted_box, "job: files that spilled go with the executor, not with the handle") {
    adapt([](executor_options& o) {
        o.output.max_memory = 10;
        o.output.spill_dir.clear();
    });
    script().expect("a").prints(std::string(1000, 'x')).waits_for_interrupt();
    auto const a = (*this)->submit("a");
    REQUIRE(eventually([&] { return a.output().left_out == 990; }));
    auto const file = a.output().spill_file;
    CHECK(std::filesystem::exists(file));
    drop();
    CHECK_FALSE(std::filesystem::exists(file));
    CHECK(a.output().left_out == 990);
    CHECK(a.output().spill_file == file);
}

TEST_CASE_METHOD(scripted_box, "job: asynchronous waits") {
    script().expect("a").waits_for_interrupt().replies();
    asio::io_context context;
    on(context.get_executor());
    auto const a = (*this)->submit("a");
    std::vector<std::string> order;
    a.async_wait(10ms, [&](bool has_ended) {
        CHECK_FALSE(has_ended);
        order.emplace_back("bound");
        a.interrupt();
    });
    a.async_wait(long_enough, [&](bool has_ended) {
        CHECK(has_ended);
        order.emplace_back("end");
        a.async_wait(long_enough, [&](bool still) {
            CHECK(still);
            order.emplace_back("again");
            (*this)->async_stop([](result<void> const&) {}); // the executor stays, and no kernel does
        });
        order.emplace_back("not inline");
    });
    auto const begun = std::chrono::steady_clock::now();
    context.run_for(long_enough);
    CHECK(context.stopped()); // no timer of a wait that is over keeps it at work
    CHECK(std::chrono::steady_clock::now() - begun < long_enough / 2);
    CHECK(order == std::vector<std::string>{"bound", "end", "not inline", "again"});
}

TEST_CASE_METHOD(scripted_box, "job: a wait is cancelled by its signal") {
    script().expect("a").waits_for_interrupt().replies();
    asio::io_context context;
    on(context.get_executor());
    auto const a = (*this)->submit("a");
    asio::cancellation_signal signal;
    int came = 0;
    a.async_wait(long_enough, asio::bind_cancellation_slot(signal.slot(), [&](bool has_ended) {
                     CHECK_FALSE(has_ended);
                     CHECK(a.state() != job::stage::ended);
                     ++came;
                     a.interrupt();
                 }));
    auto const emit = [&](bool has_ended) {
        CHECK_FALSE(has_ended);
        signal.emit(asio::cancellation_type::partial);
        signal.emit(asio::cancellation_type::partial);
    };
    a.async_wait(20ms, emit);
    a.async_wait(long_enough, [&](bool has_ended) {
        CHECK(has_ended);
        ++came;
        signal.emit(asio::cancellation_type::partial); // too late
        (*this)->async_stop([](result<void> const&) {});
    });
    context.run_for(long_enough);
    CHECK(context.stopped());
    CHECK(came == 2);
}

TEST_CASE_METHOD(scripted_box, "job: in a coroutine") {
    script().expect("a").prints("fine").replies();
    asio::io_context context;
    on(context.get_executor());
    std::string text;
    auto const work = [&]() -> asio::awaitable<void> {
        auto const a = (*this)->submit("a");
        bool const has_ended = co_await a.async_wait(long_enough);
        text = has_ended ? said(a.result()) : "late";
        drop();
    };
    asio::co_spawn(context, work, asio::detached);
    context.run_for(long_enough);
    CHECK(text == "fine");
}

TEST_CASE_METHOD(scripted_box, "job: a context that is destroyed at every step takes waits along") {
    for (bool const executor_first : {true, false}) {
        for (int steps = 0; steps < 40; ++steps) {
            script().forget();
            script().expect("a").prints("x").replies();
            script().expect("b").prints("y").waits_for_interrupt();
            auto context = std::make_unique<asio::io_context>();
            on(context->get_executor());
            auto const owned = std::make_shared<int>(0);
            auto const a = (*this)->submit("a");
            auto const b = (*this)->submit("b");
            for (auto const& each : {a, b}) {
                each.async_wait(1ms, [owned](bool) {});
                each.async_wait(long_enough, [owned](bool) {});
            }
            for (int i = 0; i < steps; ++i) context->poll_one();
            if (executor_first) drop();
            context.reset();
            CHECK(owned.use_count() == 1);
            CHECK(a.wait(0ms));
            CHECK(b.wait(0ms));
            CHECK(b.result().error() == errc::not_running);
            b.cancel();
            CHECK(got(b.async_wait(long_enough, asio::use_future)));
            if (!executor_first) drop();
        }
    }
}

TEST_CASE_METHOD(scripted_box, "job: handles in eight threads", "[tsan]") {
    auto& talks = script().expect("a");
    for (int i = 0; i < 400; ++i) talks.prints("line\n").prints("-", "stderr");
    talks.waits_for_interrupt().raises("KeyboardInterrupt", "");
    auto const a = (*this)->submit("a");
    std::vector<std::thread> threads;
    std::atomic<int> good = 0;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&good, t, mine = a] {
            std::string text;
            for (std::uint64_t at = 0; at < 2400;) {
                auto const part = mine.output(at, at + 100);
                if (part.from != at || part.left_out != 0) return;
                text += part.text;
                at = part.to;
            }
            for (int i = 0; i < 20; ++i) {
                (void)mine.state();
                (void)mine.wait(1ms);
                (void)job(mine).result();
                (void)mine.async_wait(1ms, asio::use_future);
            }
            auto last = mine.async_wait(long_enough, asio::use_future);
            if (t == 0) mine.interrupt();
            if (t == 1) mine.cancel();
            if (mine.wait(long_enough) && got(std::move(last)) && text.size() == 2400 && mine.output().end == 2400)
                ++good;
        });
    for (auto& t : threads) t.join();
    CHECK(good == 8);
}

TEST_CASE_METHOD(scripted_box, "job: submitted, waited for and cancelled from everywhere at once", "[tsan]") {
    adapt([](executor_options& o) { o.kernel.interrupt_grace = 20ms; });
    for (int i = 0; i < 400; ++i) script().expect("a").prints("x").replies();
    std::atomic<int> ended_jobs = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 20; ++i) {
                auto const j = (*this)->submit("a");
                if (t == 0) j.cancel();
                if (t == 1) j.interrupt();
                if (t == 2) (*this)->cancel();
                if (j.wait(long_enough) && j.result().has_value() + j.output().end < 3) ++ended_jobs;
            }
        });
    for (auto& t : threads) t.join();
    CHECK(ended_jobs == 120);
}

TEST_CASE_METHOD(scripted_box, "job: in a fork nothing is known of it, and it goes on here") {
    script().expect("a").prints("a").waits_for_interrupt().replies();
    auto const a = (*this)->submit("a");
    REQUIRE(eventually([&] { return a.output().end == 1; }));
    auto const child = ::fork();
    if (child == 0) {
        bool ends = false;
        {
            auto const copy = a;
            copy.cancel();
            copy.interrupt();
            ends = copy.wait(long_enough);
        }
        auto const came = a.result();
        ::_exit(ends || came || !(came.error() == errc::not_running) || a.output().end != 0 ? 1 : 0);
    }
    CHECK(end_of(child) == "0");
    CHECK_FALSE(a.wait(20ms));
    a.interrupt();
    CHECK(ended(a) == "a");
}
