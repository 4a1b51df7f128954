#include <asio/use_future.hpp>

#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/eventually.hpp"
#include "support/kernel_box.hpp"
#include "support/scripted_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

constexpr auto a_minute = 60s;

void end_patiently(executor_options& o) { o.kernel.interrupt_grace = 10s; }

std::string outcome_of(job const& j) { return j.wait(a_minute) ? text_of(j.result()) : "<it did not end>"; }

/// Waits until so much was printed.
bool has_printed(job const& j, std::uint64_t bytes) {
    return eventually([&] { return j.output().end >= bytes; });
}

} // namespace

TEMPLATE_TEST_CASE("jobs: several wait, print and end in their order", "[kernel][compat]", socketpair_transport,
                   zmq_transport) {
    kernel_box<TestType> box(end_patiently);
    auto const a = box->submit("import time\nfor i in range(3): print(i); time.sleep(.05)\n'a'");
    auto const b = box->submit("1/0");
    auto const c = box->submit("i");
    CHECK(b.state() == job::stage::waiting);
    // Read as it comes: each byte once.
    std::string text;
    std::uint64_t at = 0;
    do {
        auto const part = a.output(at);
        CHECK(part.from == at);
        text += part.text;
        at = part.to;
    } while (!a.wait(1ms));
    text += a.output(at).text;
    CHECK(text == "0\n1\n2\n'a'\n");
    CHECK(outcome_of(a) == "0\n1\n2\n'a'");
    REQUIRE(b.wait(a_minute));
    CHECK(b.result().error() == errc::python_error);
    CHECK(b.result().error().exception()->ename == "ZeroDivisionError");
    CHECK(outcome_of(c) == "2");
    CHECK(box.run("i") == "2");
}

TEMPLATE_TEST_CASE("jobs: one is interrupted, one cancelled, the others run", "[kernel][compat]", socketpair_transport,
                   zmq_transport) {
    kernel_box<TestType> box(end_patiently);
    auto const a = box->submit("import time\ntry:\n    print('a', flush=True)\n    time.sleep(60)\n"
                               "except KeyboardInterrupt:\n    print('caught')");
    auto const b = box->submit("print('b', flush=True)\ntime.sleep(60)");
    auto const c = box->submit("open('c', 'w').close()");
    auto const d = box->submit("'d'");
    REQUIRE(has_printed(a, 2));
    d.interrupt(); // it does not run
    c.cancel();
    CHECK(c.wait(a_minute));
    CHECK(a.state() == job::stage::running);
    a.interrupt();
    CHECK(outcome_of(a) == "a\ncaught");
    REQUIRE(has_printed(b, 2));
    a.interrupt();
    CHECK_FALSE(b.wait(50ms));
    b.cancel();
    REQUIRE(b.wait(a_minute));
    CHECK(b.result().error() == condition::cancelled);
    CHECK(b.result().error().output()->text == "b");
    CHECK(c.result().error() == condition::cancelled);
    CHECK(outcome_of(d) == "'d'");
    CHECK_FALSE(std::filesystem::exists(box.options().working_dir / "c"));
}

TEST_CASE("jobs: an interrupt for a job that ends never reaches the next", "[kernel]") {
    kernel_box box(end_patiently);
    for (int i = 0; i < 100; ++i) {
        auto const a = box->submit("0");
        auto const b = box->submit("for i in range(10000): pass\n'fine'");
        if (i % 2 == 0) (void)eventually([&] { return a.state() != job::stage::waiting; });
        std::this_thread::sleep_for(i * 10us);
        a.interrupt();
        a.cancel();
        CHECK(outcome_of(b) == "'fine'");
    }
}

TEST_CASE("jobs: dropped handles and kept ones", "[kernel]") {
    kernel_box box;
    for (int i = 0; i < 20; ++i) (void)box->submit("print('dropped')\nn = globals().get('n', 0) + 1");
    auto const last = box->submit("n");
    CHECK(outcome_of(last) == "20");
    std::vector<job> kept;
    for (int i = 0; i < 200; ++i) kept.push_back(box->submit("print(" + std::to_string(i) + ")"));
    for (int i = 0; i < 200; ++i) CHECK(outcome_of(kept[static_cast<std::size_t>(i)]) == std::to_string(i));
    CHECK(kept.back().id() == "221");
}

TEST_CASE("jobs: the executor is destroyed under them", "[kernel]") {
    kernel_box box;
    auto const a = box->submit("import time\nprint('so far', flush=True)\ntime.sleep(60)");
    auto const b = box->submit("'never'");
    REQUIRE(has_printed(a, 7));
    auto waiting = b.async_wait(a_minute, asio::use_future);
    box.drop();
    CHECK(got(std::move(waiting)));
    REQUIRE(a.wait(0ms));
    CHECK(a.result().error() == errc::not_running);
    CHECK(a.result().error().output()->text == "so far");
    CHECK(a.output().text == "so far\n");
    CHECK(b.result().error() == errc::not_running);
    CHECK(b.output().end == 0);
}

TEST_CASE("jobs: over a kernel that is killed, exits, or is replaced", "[kernel]") {
    kernel_box box;
    auto const a =
        box->submit("import os, signal\nprint('last words', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)");
    auto const b = box->submit("1");
    REQUIRE(a.wait(a_minute));
    CHECK(a.result().error() == errc::kernel_died);
    CHECK(a.result().error().status().signal == SIGKILL);
    CHECK(a.output().text == "last words\n");
    REQUIRE(b.wait(a_minute));
    CHECK(b.result().error() == errc::kernel_died);
    auto const c = box->submit("import time\nprint('c', flush=True)\ntime.sleep(60)");
    REQUIRE(box->reset());
    CHECK(c.wait(0ms));
    auto const d = box->submit("import time\nprint('d', flush=True)\ntime.sleep(60)");
    REQUIRE(has_printed(d, 2));
    REQUIRE(box->reset());
    CHECK(d.result().error() == condition::cancelled);
    CHECK(d.output().text == "d\n");
    auto const e = box->submit("print('bye')\nexit(3)");
    REQUIRE(e.wait(a_minute));
    CHECK(e.result()->exit_code == 3);
    CHECK(outcome_of(e) == "bye");
}

TEST_CASE("jobs: output beyond the bound goes to a file", "[kernel]") {
    kernel_box box([](executor_options& o) { o.output.max_memory = 10'000; });
    auto const a =
        box->submit("import time\nfor i in range(20000): print(i)\nprint('end', flush=True)\ntime.sleep(60)");
    std::uint64_t at = 0;
    std::uint64_t left_out = 0;
    std::string text;
    REQUIRE(eventually([&] {
        auto const part = a.output(at);
        at = part.to;
        left_out += part.left_out;
        text += part.text;
        return text.ends_with("end\n");
    }));
    std::string whole;
    for (int i = 0; i < 20000; ++i) whole += std::to_string(i) + "\n";
    whole += "end\n";
    CHECK(at == whole.size());
    CHECK(text.starts_with("0\n1\n"));
    REQUIRE(eventually([&] {
        auto const part = a.output();
        return part.left_out > whole.size() - 12'600 && read_file(part.spill_file) == whole;
    }));
    auto const all = a.output();
    CHECK(all.left_out <= whole.size() - 10'000);
    CHECK(all.text.size() < 13'000);
    CHECK(read_file(all.spill_file) == whole);
    a.cancel();
    REQUIRE(a.wait(a_minute));
    auto const result = a.result();
    auto const* const output = result.error().output();
    REQUIRE(output);
    CHECK(output->spill_file == all.spill_file);
    CHECK(output->text.ends_with("end"));
    CHECK(a.output().text.ends_with("end\n"));
}

TEST_CASE("jobs: handles in eight threads", "[kernel]") {
    kernel_box box(end_patiently);
    auto const a = box->submit("import time\nfor i in range(2000): print('line', i, 'äöü€')\ntime.sleep(60)");
    std::string whole;
    for (int i = 0; i < 2000; ++i) whole += "line " + std::to_string(i) + " äöü€\n";
    std::atomic<int> good = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t, mine = a] {
            std::string text;
            while (text.size() < whole.size()) {
                auto const part = mine.output(text.size(), text.size() + 100 + static_cast<std::uint64_t>(t));
                text += part.text;
                if (part.text.empty()) (void)mine.wait(1ms);
            }
            if (t == 3) mine.interrupt();
            if (mine.wait(a_minute) && text == whole && !mine.result() && mine.output().text == whole) ++good;
        });
    for (auto& t : threads) t.join();
    CHECK(good == 8);
    CHECK(a.result().error().exception()->ename == "KeyboardInterrupt");
}

TEST_CASE("jobs: a display's text, images and input", "[kernel]") {
    kernel_box box;
    auto const a = box->submit("from IPython.display import display, Markdown, clear_output\n"
                               "print('gone')\nclear_output()\nname = input('? ')\ndisplay(Markdown(name))\nname",
                               {.on_input = [](input_request const& r) { r.reply("Ann"); }});
    CHECK(contains(outcome_of(a), "'Ann'"));
    CHECK(a.result()->displays.size() == 2);
    CHECK(a.output().from == 5);
    CHECK(contains(a.output().text, "Ann\n"));
}

TEST_CASE("jobs: a timeout, and one that does not end when interrupted", "[kernel]") {
    kernel_box box([](executor_options& o) { o.kernel.interrupt_grace = 200ms; });
    auto const a = box->submit("print('a')\nwhile True: pass", {.timeout = 100ms});
    REQUIRE(a.wait(a_minute));
    CHECK(a.result().error() == condition::timeout);
    CHECK(a.result().error().output()->text == "a");
    auto const b = box->submit("while True:\n    try:\n        print('b', flush=True)\n        while True: pass\n"
                               "    except KeyboardInterrupt: pass");
    REQUIRE(has_printed(b, 2));
    b.interrupt(); // is caught
    CHECK_FALSE(b.wait(300ms));
    b.cancel();
    REQUIRE(b.wait(a_minute));
    CHECK(b.result().error() == condition::cancelled);
    CHECK(b.result().error().output()->kernel_restarted);
    CHECK(b.output().text.starts_with("b\nb\n"));
    CHECK(box.run("1") == "1");
}
