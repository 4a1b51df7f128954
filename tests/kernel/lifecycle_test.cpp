#include <ipybox/os/process.hpp>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/use_future.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <future>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "support/catch.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

std::size_t entries(char const* directory) {
    auto const all = std::filesystem::directory_iterator(directory);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Pids of all processes below this one.
std::set<int> descendants(int of = ::getpid()) {
    std::set<int> all;
    for (auto const& task : std::filesystem::directory_iterator("/proc/" + std::to_string(of) + "/task")) {
        std::ifstream children(task.path() / "children");
        for (int child = 0; children >> child;) {
            all.insert(child);
            std::error_code gone;
            if (std::filesystem::exists("/proc/" + std::to_string(child) + "/task", gone))
                all.merge(descendants(child));
        }
    }
    return all;
}

/// How often each thread of a process has gone to sleep by itself, which is as often as it was woken. Not the thread
/// that asks.
std::map<int, long long> sleeps(int pid) {
    std::map<int, long long> all;
    for (auto const& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
        auto const thread = std::stoi(task.path().filename().string());
        if (thread == ::gettid()) continue;
        std::ifstream status(task.path() / "status");
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("voluntary_ctxt_switches:")) all[thread] = std::stoll(line.substr(line.find(':') + 1));
    }
    return all;
}

std::map<int, long long> sleeps(std::set<int> const& pids) {
    std::map<int, long long> all;
    for (int const pid : pids) all.merge(sleeps(pid));
    return all;
}

/// Whether processes come to rest: in the end all their threads sleep for two seconds.
bool come_to_rest(std::set<int> const& pids) {
    for (int round = 0; round < 15; ++round) {
        auto const before = sleeps(pids);
        std::this_thread::sleep_for(2s);
        if (sleeps(pids) == before) return true;
    }
    return false;
}

/// Whether a process has ended; one that init has not reaped yet has.
bool ended(int pid) {
    auto const text = read_file("/proc/" + std::to_string(pid) + "/stat");
    auto const name_end = text.rfind(')');
    return name_end == std::string::npos || text.substr(name_end + 2, 1) == "Z";
}

template <class Condition>
bool within_bound(std::chrono::milliseconds bound, Condition condition) {
    auto const deadline = std::chrono::steady_clock::now() + bound;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(5ms);
    }
    return true;
}

} // namespace

TEST_CASE("1000 rounds of start, execute, stop leak nothing", "[kernel][slow]") {
    scratch_dir dir;
    runtime const shared{{.working_dir = dir.path(), .kernel = {.python = python()}}, no_sandbox{}};
    auto const round = [&](int i) {
        executor box{options_in(dir.path()), {}, shared};
        REQUIRE(box.start());
        REQUIRE(text_of(box.execute(std::to_string(i))) == std::to_string(i));
        REQUIRE(box.stop());
    };
    for (int i = 0; i < 10; ++i) round(i);
    auto const descriptors = entries("/proc/self/fd");
    auto const threads = entries("/proc/self/task");
    auto const processes = descendants().size();
    for (int i = 0; i < 990; ++i) round(i);
    CHECK(entries("/proc/self/fd") == descriptors);
    CHECK(entries("/proc/self/task") == threads);
    CHECK(within_bound(2s, [&] { return descendants().size() == processes; }));
}

TEST_CASE("supervisors of their own leak nothing either", "[kernel]") {
    scratch_dir dir;
    auto const before = entries("/proc/self/fd");
    for (int i = 0; i < 5; ++i) {
        executor box{options_in(dir.path()), {}, no_sandbox{}};
        REQUIRE(text_of(box.execute("1")) == "1");
    }
    CHECK(entries("/proc/self/fd") == before);
    CHECK(descendants().empty());
}

TEST_CASE("200 resets", "[kernel]") {
    kernel_box<> box;
    REQUIRE(box.run("x = 1") == "");
    auto const descriptors = entries("/proc/self/fd");
    for (int i = 0; i < 200; ++i) {
        REQUIRE(box->reset());
        REQUIRE(box.run("'x' in globals()") == "False");
        if (i % 10 == 0) REQUIRE(box.run("x = 1") == "");
    }
    CHECK(entries("/proc/self/fd") == descriptors);
    CHECK(descendants().size() == 3); // the supervisor, its keeper and one kernel
}

TEMPLATE_TEST_CASE("stop does not wait for a kernel that is still to come", "[kernel]", socketpair_transport,
                   zmq_transport) {
    kernel_box<TestType, mute_sandbox> box;
    auto const before = std::chrono::steady_clock::now();
    auto waiting = box->async_execute("1", {}, asio::use_future);
    REQUIRE(box->stop());
    CHECK(waiting.get().error() == errc::not_running);
    CHECK(std::chrono::steady_clock::now() - before < 10s);
}

TEST_CASE("the destructor does not wait for a kernel that is still to come", "[kernel]") {
    scratch_dir dir;
    runtime const shared{{.working_dir = dir.path(), .kernel = {.python = python()}}, mute_sandbox{}};
    for (bool const under_way : {false, true}) {
        std::future<result<void>> waiting;
        auto const before = std::chrono::steady_clock::now();
        {
            executor box{options_in(dir.path()), {}, shared};
            waiting = box.async_start(asio::use_future);
            if (under_way) std::this_thread::sleep_for(50ms);
        }
        CHECK(waiting.get().error() == errc::not_running);
        CHECK(std::chrono::steady_clock::now() - before < 10s);
    }
}

TEST_CASE("an idle executor, its supervisor and its kernel sleep", "[kernel]") {
    kernel_box<> box;
    REQUIRE(box.run("import asyncio\nprint('x')\nawait asyncio.sleep(0)") == "x");
    auto family = descendants();
    REQUIRE(family.size() == 3); // with the supervisor's keeper
    family.insert(::getpid());
    REQUIRE(sleeps(family).size() >
            family.size()); // more than a thread each: the executor's, the kernel's service thread
    CHECK(come_to_rest(family));
}

TEST_CASE("an idle executor over ZeroMQ sleeps, with the threads of libzmq", "[kernel]") {
    kernel_box<zmq_transport> box; // its stock kernel has timers of its own
    REQUIRE(box.run("1") == "1");
    CHECK(come_to_rest({::getpid()}));
}

TEST_CASE("a host that is killed leaves nothing running", "[kernel]") {
    scratch_dir dir;
    // This very program, running the hidden case below.
    launch_spec spec;
    spec.argv = {std::filesystem::read_symlink("/proc/self/exe").string(), "[.victim]"};
    spec.env = {{"PATH", "/usr/bin:/bin"},
                {"HOME", "/root"},
                {"IPYBOX_TEST_PYTHON", python().string()},
                {"IPYBOX_TEST_VICTIM", dir.path().string()}};
    spec.working_dir = dir.path();
    for (auto const& [sandbox, stops] : {std::pair("none", false), {"none", true}, {"bubblewrap", false}}) {
        INFO(sandbox << (stops ? ", supervisor stopped" : ""));
        spec.env["IPYBOX_TEST_SANDBOX"] = sandbox;
        std::filesystem::remove(dir.path() / "work/ready");
        auto host = os::start_process(spec, {});
        REQUIRE(host);
        REQUIRE(within_bound(30s, [&] { return std::filesystem::exists(dir.path() / "work/ready"); }));
        auto const family = descendants(host->pid());
        CHECK(family.size() >= 2);
        int supervisor = 0;
        if (stops) std::ifstream(dir.path() / "work/parent") >> supervisor;
        if (stops) REQUIRE(::kill(supervisor, SIGSTOP) == 0);
        host->signal(SIGKILL);
        REQUIRE(host->wait(30s));
        CHECK(within_bound(30s, [&] { return std::all_of(family.begin(), family.end(), ended); }));
    }
}

TEST_CASE("the victim of the case above", "[.victim]") {
    char const* const dir = std::getenv("IPYBOX_TEST_VICTIM");
    REQUIRE(dir);
    bool const sandboxed = std::getenv("IPYBOX_TEST_SANDBOX") == std::string("bubblewrap");
    executor box{options_in(dir), {}, sandboxed ? any_sandbox(bubblewrap_sandbox{}) : any_sandbox(no_sandbox{})};
    (void)box.execute(
        "import os, subprocess\nsubprocess.Popen(['setsid', 'sleep', '1000'])\nsubprocess.Popen(['sleep', '1000'])\n"
        "open('parent', 'w').write(str(os.getppid()))\nopen('ready', 'w').close()\nwhile True:\n    try:\n        "
        "while True: pass\n    except BaseException: pass");
}

TEST_CASE("W18 W19 M15 bubblewrap keeps the kernel in", "[kernel]") {
    scratch_dir dir;
    auto const options = options_in(dir.path());
    dir.write("outside.txt", "outside");
    executor box{options, {}, bubblewrap_sandbox{}};
    auto const run = [&](std::string const& code) { return text_of(box.execute(code)); };
    CHECK(run("open('inside.txt', 'w').write('x')") == "1");
    CHECK(std::filesystem::exists(options.working_dir / "inside.txt"));
    CHECK(run("try:\n    open('/etc/ipybox-test', 'w')\nexcept OSError as e: print(type(e).__name__)") == "OSError");
    CHECK(run("import os\nprint(os.path.exists('" + (dir.path() / "outside.txt").string() + "'))") == "False");
    CHECK(run("print(sorted(os.listdir('/sys/class/net')) if os.path.exists('/sys/class/net') else "
              "open('/proc/net/dev').read().count(':'))") == "1");
    asio::io_context context;
    asio::ip::tcp::acceptor const listening(context, {asio::ip::address_v4::loopback(), 0});
    auto const connect = "import socket\ntry:\n    socket.create_connection(('127.0.0.1', " +
                         std::to_string(listening.local_endpoint().port()) +
                         "), 1)\n    print('open')\nexcept OSError as e: print('closed')";
    CHECK(run(connect) == "closed");
    executor outside{options, {}, no_sandbox{}};
    CHECK(text_of(outside.execute(connect)) == "open");
    CHECK(run("print(len([p for p in os.listdir('/proc') if p.isdigit()]) < 8)") == "True");
    CHECK(run("print([l.split()[1] for l in open('/proc/self/status') if l.startswith('CapEff')][0])") ==
          "0000000000000000");
    CHECK(run("import matplotlib.pyplot as plt\nplt.plot([1, 2]);") != "");
    auto const timed_out = box.execute("import time\ntime.sleep(60)", {.timeout = 200ms});
    CHECK(timed_out.error() == errc::timed_out);
    CHECK(box.execute("os._exit(4)").error().status().code == 4);
    REQUIRE(box.reset());
    CHECK(run("1") == "1");
}
