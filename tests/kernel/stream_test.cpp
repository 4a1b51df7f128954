#include <chrono>
#include <fstream>
#include <thread>

#include "support/catch.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// Resident memory of this process in bytes.
std::size_t resident() {
    std::ifstream statm("/proc/self/statm");
    std::size_t all = 0;
    std::size_t pages = 0;
    statm >> all >> pages;
    return pages * 4096;
}

} // namespace

TEMPLATE_TEST_CASE("a stream yields events as they come, the result last", "[kernel][compat]", socketpair_transport,
                   zmq_transport) {
    kernel_box<TestType> box;
    auto stream = box->stream(
        "import time\nprint('first', flush=True)\ntime.sleep(0.3)\ndisplay({'text/plain': 'shown'}, raw=True)\n"
        "from IPython.display import clear_output\nclear_output()\nprint('second')\n'value'");
    std::string order;
    std::chrono::steady_clock::time_point first;
    std::string text;
    while (auto event = stream.next()) {
        if (auto* chunk = std::get_if<output_chunk>(&*event)) {
            if (order.empty()) first = std::chrono::steady_clock::now();
            if (order.empty() || order.back() != 'c') order += 'c';
        } else if (auto* shown = std::get_if<display>(&*event)) {
            order += shown->kind == display::message_type::execute_result ? 'v' : 'd';
        } else if (std::holds_alternative<execution_stream::output_cleared>(*event)) {
            order += 'x';
        } else if (auto* last = std::get_if<result<execution_result>>(&*event)) {
            order += 'r';
            text = text_of(*last);
            CHECK(std::chrono::steady_clock::now() - first > 250ms); // the first chunk did not wait for the end
        }
    }
    CHECK(order == "cdxcvr");
    CHECK(text == "second\n'value'");
    CHECK_FALSE(stream.next());
}

TEST_CASE("a stream without chunks yields displays and the result", "[kernel]") {
    kernel_box<> box;
    auto stream = box->stream("print('text')\n1", {.chunks = false});
    auto const shown = stream.next();
    REQUIRE(shown);
    CHECK(std::holds_alternative<display>(*shown));
    auto const last = stream.next();
    REQUIRE(last);
    CHECK(text_of(std::get<result<execution_result>>(*last)) == "text\n1");
}

TEST_CASE("a reader may leave a stream at any point", "[kernel]") {
    kernel_box<> box;
    REQUIRE(box.run("kept = 5") == "");
    for (int events_read = 0; events_read < 4; ++events_read) {
        auto const begin = std::chrono::steady_clock::now();
        {
            auto stream =
                box->stream("import time\nfor i in range(1000):\n    print(i, flush=True)\n    time.sleep(0.05)");
            for (int i = 0; i < events_read; ++i) REQUIRE(stream.next());
        }
        REQUIRE(box.run("kept") == "5"); // the same kernel, interrupted
        CHECK(std::chrono::steady_clock::now() - begin < 30s);
    }
}

TEST_CASE("a stream that is left before its code starts never runs it", "[kernel]") {
    kernel_box<> box;
    {
        auto running = box->stream("import time\ntime.sleep(0.2)");
        auto waiting = box->stream("leaked = True");
        waiting = box->stream("fine = True");
        while (running.next()) {}
        while (waiting.next()) {}
    }
    CHECK(box.run("print('leaked' in globals(), 'fine' in globals())") == "False True");
}

TEST_CASE("a slow reader slows the kernel down and memory stays bounded", "[kernel]") {
    kernel_box<> box([](executor_options& o) {
        o.output.max_memory = 4 << 20;
        o.output.max_spill = std::uint64_t(4) << 30;
    });
    REQUIRE(box.run("pass") == "");
    auto const before = resident();
    auto stream = box->stream("for i in range(2000): print('x' * 1_000_000)\nprint('end')");
    std::size_t bytes = 0;
    std::size_t most = 0;
    std::optional<result<execution_result>> last;
    int events = 0;
    while (auto event = stream.next()) {
        if (auto* chunk = std::get_if<output_chunk>(&*event)) bytes += chunk->text.size();
        if (auto* over = std::get_if<result<execution_result>>(&*event)) last = std::move(*over);
        if (++events < 40) std::this_thread::sleep_for(10ms);
        most = std::max(most, resident());
    }
    REQUIRE(last);
    REQUIRE(*last);
    CHECK(bytes == std::size_t(2000) * 1'000'001 + 4);
    CHECK(most - std::min(most, before) < (std::size_t(160) << 20));
    CHECK((*last)->text.size() < (5 << 20));
    CHECK(std::filesystem::file_size((*last)->spill_file) == bytes);
}

TEST_CASE("a timeout ends code whose stream nobody reads", "[kernel]") {
    kernel_box<> box([](executor_options& o) { o.output.max_memory = 4 << 20; });
    REQUIRE(box.run("kept = 5") == "");
    auto stream = box->stream("while True: print('x' * 1_000_000)", {.timeout = 500ms});
    std::this_thread::sleep_for(1500ms);
    std::optional<result<execution_result>> last;
    while (auto event = stream.next())
        if (auto* over = std::get_if<result<execution_result>>(&*event)) last = std::move(*over);
    REQUIRE(last);
    REQUIRE_FALSE(*last);
    CHECK(last->error() == errc::timed_out);
    CHECK_FALSE(last->error().output()->kernel_restarted);
    CHECK(box.run("kept") == "5");
}
