#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;
using clock_type = std::chrono::steady_clock;

/// Time enough to end code and to format its traceback on a machine that has much else to do: only what is lost takes
/// longer.
constexpr auto patience = 10s;
void be_patient(executor_options& o) { o.kernel.interrupt_grace = patience; }

/// Makes the file that `begin` waits for.
std::string const says_running = "open('running', 'w').close()\n";

/// Runs code on another thread and waits until it says that it runs: at its beginning, or where it does so itself.
template <class Box>
std::future<result<execution_result>> begin(Box& box, std::string code) {
    auto const mark = box.options().working_dir / "running";
    std::filesystem::remove(mark);
    if (code.find(says_running) == std::string::npos) code.insert(0, says_running);
    auto call = std::async(std::launch::async, [&box, code] { return box->execute(code); });
    bool const runs =
        eventually([&] { return std::filesystem::exists(mark) || call.wait_for(0s) == std::future_status::ready; });
    REQUIRE(runs);
    INFO("the call has ended before: " << (std::filesystem::exists(mark) ? "no" : text_of(call.get())));
    REQUIRE(std::filesystem::exists(mark));
    return call;
}

/// Code that waits in the ways that code waits.
char const* const waiting_code[] = {
    "import time\nprint('partial')\ntime.sleep(60)",
    "print('partial')\nwhile True: pass",
    "import asyncio\nprint('partial')\nawait asyncio.sleep(60)",
    "import threading\nprint('partial')\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
    "import queue\nprint('partial')\nqueue.Queue().get()",
    "import subprocess\nprint('partial')\nsubprocess.run(['sleep', '60'])",
    "print('partial')\n!sleep 60",
};

} // namespace

TEMPLATE_TEST_CASE("a timeout keeps what was printed and the state", "[kernel][compat]", socketpair_transport,
                   zmq_transport) {
    kernel_box<TestType> box(be_patient);
    REQUIRE(box.run("kept = 7") == "");
    for (auto const* code : waiting_code) {
        INFO(code);
        auto const before = clock_type::now();
        auto const r = box->execute(code, {.timeout = 300ms});
        auto const took = clock_type::now() - before;
        REQUIRE_FALSE(r);
        CHECK(r.error() == errc::timed_out);
        CHECK(r.error() == condition::timeout);
        REQUIRE(r.error().output());
        CHECK_THAT(r.error().output()->text, Catch::Matchers::StartsWith("partial"));
        CHECK_FALSE(r.error().output()->kernel_restarted);
        CHECK(took >= 300ms);
        CHECK(took < patience);
        REQUIRE(box.run("kept") == "7");
    }
}

TEMPLATE_TEST_CASE("cancel ends the running code from another thread", "[kernel][compat]", socketpair_transport,
                   zmq_transport) {
    kernel_box<TestType> box(be_patient);
    REQUIRE(box.run("kept = 7") == "");
    for (auto const* code : waiting_code) {
        INFO(code);
        auto call = begin(box, code);
        box->cancel();
        auto const r = call.get();
        REQUIRE_FALSE(r);
        CHECK(r.error() == condition::cancelled);
        REQUIRE(r.error().output());
        CHECK_FALSE(r.error().output()->kernel_restarted);
        REQUIRE(box.run("kept") == "7");
    }
}

TEMPLATE_TEST_CASE("M4 cancel right behind another execution is obeyed", "[kernel][compat]", socketpair_transport,
                   zmq_transport) {
    kernel_box<TestType> box(be_patient); // M4: the original ignores it
    for (int i = 0; i < 5; ++i) {
        REQUIRE(box.run("pass") == "");
        auto call = begin(box, "import time\ntime.sleep(60)");
        box->cancel();
        auto const r = call.get();
        REQUIRE_FALSE(r);
        CHECK(r.error() == condition::cancelled);
        CHECK_FALSE(r.error().output()->kernel_restarted);
    }
}

TEST_CASE("a busy loop behind an await is interrupted", "[kernel][compat]") {
    // Stock ipykernel cannot: it only cancels the task, which a loop that never yields does not see. Its kernel is
    // replaced.
    kernel_box<> box;
    auto const r =
        box->execute("import asyncio\nprint('partial')\nawait asyncio.sleep(0)\nwhile True: pass", {.timeout = 300ms});
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::timed_out);
    CHECK_FALSE(r.error().output()->kernel_restarted);
}

TEMPLATE_TEST_CASE("a cancelled call has what was printed until then", "[kernel][compat]", socketpair_transport,
                   zmq_transport) {
    kernel_box<TestType> box(be_patient);
    auto stream = box->stream("import time\nprint('partial', flush=True)\ntime.sleep(60)\nprint('never')");
    auto const first = stream.next();
    REQUIRE((first && std::holds_alternative<output_chunk>(*first)));
    box->cancel();
    std::optional<execution_event> last;
    while (auto event = stream.next()) last = std::move(event);
    REQUIRE((last && std::holds_alternative<result<execution_result>>(*last)));
    auto const& r = std::get<result<execution_result>>(*last);
    REQUIRE_FALSE(r);
    CHECK(r.error() == condition::cancelled);
    REQUIRE(r.error().output());
    // A stock kernel may warn of a coroutine of its own that it never awaited, behind what the code printed.
    auto const& text = r.error().output()->text;
    CHECK_THAT(text, Catch::Matchers::StartsWith("partial"));
    CHECK_THAT(text, !Contains("\nnever"));
    if constexpr (std::is_same_v<TestType, socketpair_transport>) CHECK(text == "partial");
    CHECK_FALSE(r.error().output()->kernel_restarted);
}

TEST_CASE("a start whose kernel does not come can be cancelled", "[kernel]") {
    kernel_box<socketpair_transport, mute_sandbox> box;
    asio::cancellation_signal signal;
    std::promise<result<void>> outcome;
    auto const before = clock_type::now();
    box->async_start(
        asio::bind_cancellation_slot(signal.slot(), [&](result<void> r) { outcome.set_value(std::move(r)); }));
    signal.emit(asio::cancellation_type::terminal);
    auto const r = outcome.get_future().get();
    REQUIRE_FALSE(r);
    CHECK(r.error() == condition::cancelled);
    CHECK(clock_type::now() - before < 20s);
}

TEST_CASE("cancel before the code has started", "[kernel]") {
    kernel_box<> box;
    auto stream = box->stream("print('ran')"); // the kernel is not there yet
    box->cancel();
    auto last = stream.next();
    REQUIRE(last);
    auto const& r = std::get<result<execution_result>>(*last);
    REQUIRE_FALSE(r);
    CHECK(r.error() == condition::cancelled);
    CHECK_FALSE(stream.next());
    CHECK(box.run("'usable'") == "'usable'");
}

TEST_CASE("cancel reaches waiting executions too", "[kernel]") {
    kernel_box<> box;
    auto first = begin(box, "import time\ntime.sleep(60)");
    auto second = box->stream("print('second')");
    auto third = box->stream("print('third')");
    box->cancel();
    CHECK(first.get().error() == condition::cancelled);
    for (auto* stream : {&second, &third}) {
        auto const last = stream->next();
        REQUIRE(last);
        CHECK(std::get<result<execution_result>>(*last).error() == condition::cancelled);
    }
    CHECK(box.run("1") == "1");
}

TEST_CASE("Q6 M6 code that swallows KeyboardInterrupt loses its kernel to a fresh one", "[kernel]") {
    kernel_box<> box([](executor_options& o) { o.kernel.interrupt_grace = 400ms; });
    REQUIRE(box.run("kept = 7") == "");
    auto const stubborn = "import time\nprint('stubborn')\nwhile True:\n    try:\n        time.sleep(60)\n    except "
                          "KeyboardInterrupt:\n        print('no')\n";
    auto const before = clock_type::now();
    auto const r = box->execute(stubborn, {.timeout = 200ms});
    CHECK(clock_type::now() - before < 20s);
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::timed_out);
    CHECK_THAT(r.error().text(), Contains("fresh"));
    CHECK(r.error().output()->text == "stubborn\nno\nno");
    CHECK(r.error().output()->kernel_restarted);
    CHECK(box.run("'kept' in globals()") == "False");
}

TEST_CASE("code that holds the GIL in C loses its kernel to a fresh one", "[kernel]") {
    kernel_box<> box([](executor_options& o) { o.kernel.interrupt_grace = 300ms; });
    // an interrupt may come before the C code has begun
    auto call = begin(box, "while True:\n    try:\n        " + says_running +
                               "        sum(range(10**11))\n    except KeyboardInterrupt:\n        pass\n");
    box->cancel();
    auto const r = call.get();
    REQUIRE_FALSE(r);
    CHECK(r.error() == condition::cancelled);
    CHECK(r.error().output()->kernel_restarted);
    CHECK(box.run("1 + 1") == "2");
}

TEST_CASE("a kernel that an interrupt has struck dumb is replaced before the call completes", "[kernel]") {
    kernel_box<zmq_transport> box;
    REQUIRE(box.run("kept = 7\nget_ipython().kernel.shell_handlers['kernel_info_request'] = lambda *request: None") ==
            "");
    auto call = begin(box, "import time\ntime.sleep(60)");
    box->cancel();
    auto const r = call.get();
    REQUIRE_FALSE(r);
    CHECK(r.error() == condition::cancelled);
    CHECK(r.error().output()->kernel_restarted);
    CHECK(box.run("'kept' in globals()") == "False");
}

TEST_CASE("a kernel that an interrupt has struck dumb is a dead kernel", "[kernel]") {
    kernel_box<zmq_transport> box;
    REQUIRE(box.run("get_ipython().kernel.shell_handlers['kernel_info_request'] = lambda *request: None") == "");
    auto call = begin(box, "import time\ntime.sleep(60)");
    REQUIRE(box->interrupt());
    auto const r = call.get();
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::kernel_died);
    CHECK_THAT(r.error().text(), Contains("no sign of life"));
    CHECK(box->execute("1").error() == errc::kernel_died);
    REQUIRE(box->reset());
    CHECK(box.run("1") == "1");
}

TEST_CASE("code that cannot be told yet has more time than the grace", "[kernel]") {
    kernel_box<> box;
    REQUIRE(box.run("kept = 7") == "");
    auto const deaf_for_a_while = "import signal, time\n"
                                  "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\n"
                                  "time.sleep(2)\n"
                                  "signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})\n"
                                  "time.sleep(60)";
    auto const r = box->execute(deaf_for_a_while, {.timeout = 200ms});
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::timed_out);
    CHECK_FALSE(r.error().output()->kernel_restarted);
    CHECK(box.run("kept") == "7");
}

TEST_CASE("the rendering of an error does not count against the grace, and is not interrupted", "[kernel]") {
    kernel_box<> box([](executor_options& o) { o.kernel.interrupt_grace = 500ms; });
    REQUIRE(box.run("kept = 7") == "");
    auto const slow_to_show = "import time\n"
                              "class Slow(Exception):\n"
                              "    def _render_traceback_(self):\n"
                              "        time.sleep(1.5)\n"
                              "        return ['rendered']\n"
                              "error = None\n"
                              "try: time.sleep(60)\n"
                              "except KeyboardInterrupt: error = Slow()\n"
                              "if error: raise error";
    auto const r = box->execute(slow_to_show, {.timeout = 200ms});
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::timed_out);
    CHECK_FALSE(r.error().output()->kernel_restarted);
    REQUIRE(r.error().exception());
    CHECK(r.error().exception()->ename == "Slow");
    CHECK(r.error().exception()->traceback == std::vector<std::string>{"rendered"});
    CHECK(box.run("kept") == "7");
}

TEST_CASE("the error of a timeout or a cancellation says where the code was", "[kernel][compat]") {
    kernel_box<> box(be_patient);
    auto const where = [](result<execution_result> const& r) {
        REQUIRE_FALSE(r);
        REQUIRE(r.error().exception());
        CHECK(r.error().exception()->ename == "KeyboardInterrupt");
        std::string lines;
        for (auto const& line : r.error().exception()->traceback) lines += line + "\n";
        return lines;
    };
    execute_options options;
    options.timeout = 300ms;
    options.title = "the slow part";
    auto const r = box->execute("def f():\n    while True: pass\nf()", options);
    CHECK(r.error() == errc::timed_out);
    CHECK_THAT(r.error().text(), Contains("300 ms"));
    CHECK_THAT(where(r), Contains("Cell In[1] (the slow part), line 2, in f()\n----> 2     while True: pass\n"));

    // One statement: IPython compiles each by itself, and an interrupt between two of them is nowhere in the code.
    auto call = begin(box, "import time\nwhile True:\n    " + says_running + "    time.sleep(60)");
    box->cancel();
    CHECK_THAT(where(call.get()), Contains("Cell In[2], line "));
}

TEST_CASE("a short C loop ends by itself within the grace", "[kernel]") {
    kernel_box<> box;
    REQUIRE(box.run("kept = 1") == "");
    auto const r = box->execute("sum(range(2 * 10**7))\nimport time\ntime.sleep(60)", {.timeout = 100ms});
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::timed_out);
    CHECK(box.run("kept") == "1");
}

TEMPLATE_TEST_CASE("interrupt raises KeyboardInterrupt, which the code may handle", "[kernel][compat]",
                   socketpair_transport, zmq_transport) {
    kernel_box<TestType> box;
    auto call = begin(box, "import time\ntry:\n    " + says_running +
                               "    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('handled')");
    REQUIRE(box->interrupt());
    CHECK(text_of(call.get()) == "handled");

    auto second = begin(box, "import time\ntime.sleep(60)");
    REQUIRE(box->interrupt());
    auto const r = second.get();
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::python_error);
    CHECK(r.error().exception()->ename == "KeyboardInterrupt");

    REQUIRE(box->interrupt()); // nothing runs: nothing happens
    CHECK(box.run("'idle'") == "'idle'");
}

TEST_CASE("interrupts at any moment of a print loop tear nothing and double nothing", "[kernel]") {
    kernel_box<> box;
    for (int round = 0; round < 30; ++round) {
        auto const r = box->execute("i = 0\nwhile True:\n    print(i)\n    i += 1",
                                    {.timeout = std::chrono::milliseconds(20 + 3 * round)});
        REQUIRE_FALSE(r);
        REQUIRE(r.error() == errc::timed_out);
        auto const& text = r.error().output()->text;
        std::istringstream lines(text);
        int expected = 0;
        int seen = -1;
        while (lines >> seen) REQUIRE(seen == expected++);
        REQUIRE(box.run("print('after')") == "after");
    }
}

TEST_CASE("reset and stop end what runs", "[kernel]") {
    kernel_box<> box;
    REQUIRE(box.run("kept = 7") == "");
    auto running = begin(box, "import time\ntime.sleep(60)");
    REQUIRE(box->reset());
    CHECK(running.get().error() == condition::cancelled);
    CHECK(box.run("'kept' in globals()") == "False");

    auto again = begin(box, "import time\ntime.sleep(60)");
    REQUIRE(box->stop());
    CHECK(again.get().error() == errc::not_running);
    CHECK(box->state() == executor::kernel_state::stopped);
    auto const after = box->execute("1");
    REQUIRE_FALSE(after);
    CHECK(after.error() == errc::not_running);
    REQUIRE(box->start());
    CHECK(box.run("1") == "1");
}

TEST_CASE("the destructor ends what runs and does not wait for the code", "[kernel]") {
    auto box = std::make_unique<kernel_box<>>();
    auto stubborn = (**box).stream("import time\nprint('running', flush=True)\nwhile True:\n    try:\n        "
                                   "time.sleep(60)\n    except BaseException:\n        pass");
    REQUIRE(stubborn.next());
    auto const before = clock_type::now();
    box.reset();
    CHECK(clock_type::now() - before < 20s);
    auto last = stubborn.next();
    REQUIRE(last);
    CHECK(std::get<result<execution_result>>(*last).error() == errc::not_running);
    CHECK_FALSE(stubborn.next());
}

TEST_CASE("Q9 executions made at once are done in their order", "[kernel]") {
    kernel_box<> box;
    std::vector<execution_stream> streams;
    for (int i = 0; i < 20; ++i)
        streams.push_back(
            box->stream("order = globals().get('order', []) + [" + std::to_string(i) + "]\nprint(order[-1])"));
    for (int i = 0; i < 20; ++i) {
        std::string text;
        while (auto event = streams[static_cast<std::size_t>(i)].next())
            if (auto* last = std::get_if<result<execution_result>>(&*event)) text = text_of(*last);
        CHECK(text == std::to_string(i));
    }
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&box, t] {
            for (int i = 0; i < 10; ++i) {
                auto const number = std::to_string(100 * t + i);
                if (box.run("print(" + number + ")") != number) std::abort();
            }
        });
    for (auto& thread : threads) thread.join();
    CHECK(box.run("len(order)") == "20");
}
