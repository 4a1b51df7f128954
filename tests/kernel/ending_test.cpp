#include <asio/use_future.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <string>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

constexpr auto leaves_things_unfinished = "f = open('file', 'w'); f.write('data')\n"
                                          "import atexit, threading, time\n"
                                          "atexit.register(lambda: open('atexit', 'w').write('done'))\n"
                                          "threading.Thread(target=lambda: (time.sleep(0.1), open('thread', "
                                          "'w').write('done'))).start()\nNone";

constexpr auto never_ends = "import os, threading\nthreading.Thread(target=threading.Event().wait).start()\n"
                            "print(os.getpid())";

using clock_type = std::chrono::steady_clock;

template <class Box>
void check_finished(Box const& box) {
    auto const dir = box.options().working_dir;
    CHECK(read_file(dir / "file") == "data");
    CHECK(read_file(dir / "atexit") == "done");
    CHECK(read_file(dir / "thread") == "done");
}

TEST_CASE("an ending kernel finishes what it has begun, whoever ends it", "[kernel]") {
    kernel_box<> box;
    REQUIRE(box.run(leaves_things_unfinished).empty());
    SECTION("stop") { REQUIRE(box->stop()); }
    SECTION("reset") { REQUIRE(box->reset()); }
    SECTION("the destructor") { box.drop(); }
    SECTION("exit()") { CHECK(box.run("exit()").empty()); }
    check_finished(box);
}

TEST_CASE("an ending kernel over ZeroMQ finishes what it has begun", "[kernel][zmq]") {
    kernel_box<zmq_transport> box([](executor_options& o) { o.kernel.end_grace = 10s; });
    REQUIRE(box.run(leaves_things_unfinished).empty());
    REQUIRE(box->stop());
    check_finished(box);
}

TEST_CASE("a kernel of a shared runtime ends in order", "[kernel]") {
    scratch_dir const dir;
    auto const options = options_in(dir.path());
    auto const shared = runtime({.kernel = {.python = options.kernel.python}}, no_sandbox{});
    {
        executor box(options, deny_approval{}, shared);
        REQUIRE(box.execute("f = open('file', 'w'); f.write('data'); None"));
    }
    CHECK(read_file(options.working_dir / "file") == "data");
}

TEST_CASE("a kernel that does not come to its end is killed when the bound has passed", "[kernel]") {
    kernel_box<> box([](executor_options& o) { o.kernel.end_grace = 300ms; });
    auto const pid = std::stoi(box.run(never_ends));
    auto const started = clock_type::now();
    SECTION("stop") { REQUIRE(box->stop()); }
    SECTION("reset") { REQUIRE(box->reset()); }
    SECTION("the destructor") { box.drop(); }
    auto const took = clock_type::now() - started;
    CHECK(took >= 300ms);
    CHECK(took < 20s);
    CHECK(::kill(pid, 0) != 0);
}

TEST_CASE("code that has taken its kernel over cannot hold up its end", "[kernel]") {
    auto const* const code = GENERATE("import os, threading\n"
                                      "def flood():\n    while True: print('x' * 100000)\n"
                                      "for _ in range(4): threading.Thread(target=flood).start()\nprint(os.getpid())",
                                      "import os\nget_ipython().kernel.is_shutdown = lambda *_: False\n"
                                      "print(os.getpid())",
                                      "import atexit, os, signal\n"
                                      "atexit.register(os.kill, os.getpid(), signal.SIGSTOP)\nprint(os.getpid())");
    kernel_box<> box([](executor_options& o) { o.kernel.end_grace = 300ms; });
    REQUIRE(box->execute(code));
    auto const started = clock_type::now();
    REQUIRE(box->stop());
    CHECK(clock_type::now() - started < 20s);
}

TEST_CASE("without a grace a kernel is killed at once", "[kernel]") {
    kernel_box<> box([](executor_options& o) { o.kernel.end_grace = 0ms; });
    REQUIRE(box.run(leaves_things_unfinished).empty());
    REQUIRE(box->stop());
    CHECK_FALSE(std::filesystem::exists(box.options().working_dir / "atexit"));
}

TEST_CASE("a kernel that runs code is killed at once", "[kernel]") {
    kernel_box<> box([](executor_options& o) { o.kernel.end_grace = 60s; });
    auto events = box->stream("print('on')\nwhile True: pass");
    REQUIRE(events.next());
    auto const started = clock_type::now();
    REQUIRE(box->reset());
    CHECK(clock_type::now() - started < 30s);
    CHECK(box.run("1") == "1");
}

} // namespace

TEST_CASE("a stop that comes while a reset ends its old kernel leaves no other one to be started", "[kernel]") {
    kernel_box<> box([](executor_options& o) { o.kernel.end_grace = std::chrono::seconds(30); });
    // The old kernel ends when it is let.
    REQUIRE(box.run("import atexit, os, time\n"
                    "def wait():\n"
                    "    open('ending', 'w').close()\n"
                    "    while not os.path.exists('go'): time.sleep(0.01)\n"
                    "_ = atexit.register(wait)")
                .empty());
    auto const work = box.options().working_dir;
    auto reset = box->async_reset(asio::use_future);
    REQUIRE(eventually([&] { return std::filesystem::exists(work / "ending"); }));
    auto stop = box->async_stop(asio::use_future);
    std::ofstream(work / "go").close();
    REQUIRE(reset.wait_for(std::chrono::seconds(30)) == std::future_status::ready);
    auto const outcome = reset.get();
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error() == errc::not_running);
    REQUIRE(stop.wait_for(std::chrono::seconds(30)) == std::future_status::ready);
    CHECK(stop.get());
    CHECK(box->state() == executor::kernel_state::stopped);
    REQUIRE(box->start());
    CHECK(box.run("1") == "1");
}
