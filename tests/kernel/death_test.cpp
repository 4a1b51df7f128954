#include <chrono>
#include <csignal>
#include <future>

#include "support/catch.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

} // namespace

TEMPLATE_TEST_CASE("Q2 M7 the death of the kernel ends the call, with its cause and the output so far",
                   "[kernel][compat]", socketpair_transport, zmq_transport) {
    struct death {
        char const* code;
        exit_status status;
    };
    death const deaths[] = {
        {"import os\nos._exit(3)", {3, std::nullopt}},
        {"import ctypes\nctypes.string_at(0)", {std::nullopt, SIGSEGV}},
        {"import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", {std::nullopt, SIGKILL}},
        {"import os\nos.abort()", {std::nullopt, SIGABRT}},
    };
    kernel_box<TestType> box;
    for (auto const& d : deaths) {
        INFO(d.code);
        auto const r =
            box->execute(std::string("import time\nprint('last words', flush=True)\ntime.sleep(0.05)\n") + d.code);
        REQUIRE_FALSE(r);
        CHECK(r.error() == errc::kernel_died);
        CHECK(r.error() == condition::kernel_lost);
        CHECK(r.error().status() == d.status);
        REQUIRE(r.error().output());
        CHECK(r.error().output()->text.substr(0, 10) == "last words");
        CHECK(box->state() == executor::kernel_state::dead);

        // It stays dead, and says so, until reset.
        auto const again = box->execute("1");
        REQUIRE_FALSE(again);
        CHECK(again.error() == errc::kernel_died);
        CHECK_THAT(again.error().text(), Contains("reset()"));
        REQUIRE(box->reset());
        CHECK(box.run("1 + 1") == "2");
    }
}

TEST_CASE("death is noticed, however it came", "[kernel]") {
    for (auto const* code :
         {"os._exit(1)", "ctypes.string_at(0)", "os.kill(os.getpid(), signal.SIGKILL)", "os.abort()"}) {
        INFO(code);
        kernel_box<> box;
        for (int i = 0; i < 5; ++i) {
            REQUIRE(box.run("import ctypes, os, signal") == "");
            REQUIRE(box->execute(code).error() == errc::kernel_died);
            REQUIRE(box->reset());
        }
    }
}

TEST_CASE("what was written past Python before the kernel died is output, once", "[kernel]") {
    struct death {
        char const* code;
        std::string text;
    };
    death const deaths[] = {
        {"os.write(2, b'before\\n')\nos.abort()", "before"},
        {"os.write(1, b'before\\n')\nos._exit(1)", "before"},
        {"print('first', flush=True)\nos.system('echo second')\nos._exit(1)", "first\nsecond"},
        {"os.write(1, b'\\xff\\n')\nos.abort()", "\uFFFD"},
        {"os.write(1, b'x' * 60000)\nos.abort()", std::string(60'000, 'x')},
        {"os.write(1, b'out\\n')\nos.write(2, b'err\\n')\nctypes.string_at(0)", "out\nerr"},
    };
    kernel_box<> box;
    for (auto const& d : deaths) {
        INFO(d.code);
        int whole = 0;
        for (int i = 0; i < 5; ++i) {
            auto const r = box->execute(std::string("import ctypes, os\n") + d.code);
            REQUIRE_FALSE(r);
            CHECK(r.error() == errc::kernel_died);
            REQUIRE(r.error().output());
            auto const& text = r.error().output()->text;
            CHECK(d.text.find(text) != std::string::npos); // nothing twice
            whole += text == d.text ? 1 : 0;
            REQUIRE(box->reset());
        }
        CHECK(whole >= 3); // a piece that the kernel is about to forward dies with it
    }
    for (int i = 0; i < 5; ++i) {
        auto const r = box->execute("import ctypes, faulthandler\nfaulthandler.enable(file=2)\nctypes.string_at(0)");
        REQUIRE_FALSE(r);
        REQUIRE(r.error().output());
        auto const& text = r.error().output()->text;
        CHECK_THAT(text, StartsWith("Fatal Python error: Segmentation fault"));
        CHECK_THAT(text, Contains("line 3 in <module>"));
        REQUIRE(box->reset());
    }
}

TEST_CASE("a kernel that is killed from outside, as by the system when memory runs out", "[kernel]") {
    kernel_box<> box;
    auto const pid = std::stoi(box.run("import os, time\nprint(os.getpid())"));
    auto stream = box->stream("print('last words', flush=True)\ntime.sleep(60)");
    auto const first = stream.next();
    REQUIRE((first && std::holds_alternative<output_chunk>(*first)));
    auto const before = std::chrono::steady_clock::now();
    REQUIRE(::kill(pid, SIGKILL) == 0);
    auto const last = stream.next();
    CHECK(std::chrono::steady_clock::now() - before < 20s);
    REQUIRE((last && std::holds_alternative<result<execution_result>>(*last)));
    auto const& r = std::get<result<execution_result>>(*last);
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::kernel_died);
    CHECK(r.error().status().signal == SIGKILL);
    REQUIRE(r.error().output());
    CHECK(r.error().output()->text == "last words");
}

TEST_CASE("death while idle is told to the next call", "[kernel]") {
    kernel_box<> box;
    REQUIRE(box.run("import os, threading\nthreading.Timer(0.05, os._exit, [9]).start()") == "");
    auto const deadline = std::chrono::steady_clock::now() + 5s;
    while (box->state() != executor::kernel_state::dead && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
    auto const r = box->execute("1");
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::kernel_died);
    CHECK(r.error().status().code == 9);
}

TEST_CASE("with restart_dead the next call gets a fresh kernel and says so", "[kernel]") {
    kernel_box<> box([](executor_options& o) { o.kernel.restart_dead = true; });
    REQUIRE(box.run("kept = 1") == "");
    REQUIRE(box->execute("import os\nos._exit(1)").error() == errc::kernel_died);
    auto const r = box->execute("'kept' in globals()");
    REQUIRE(r);
    CHECK(r->text == "False");
    CHECK(r->kernel_restarted);
    auto const next = box->execute("1");
    REQUIRE(next);
    CHECK_FALSE(next->kernel_restarted);
}

TEST_CASE("exit() ends the kernel after its reply", "[kernel][compat]") {
    kernel_box<> box;
    auto const r = box->execute("print('bye')\nexit()");
    CHECK(text_of(r) == "bye");
    auto const deadline = std::chrono::steady_clock::now() + 5s;
    while (box->state() != executor::kernel_state::dead && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
    auto const after = box->execute("1");
    REQUIRE_FALSE(after);
    CHECK(after.error().status() == exit_status{0, std::nullopt});
}

TEST_CASE("a kernel that cannot be understood, or hangs up, does not go on unseen", "[kernel]") {
    char const* const ends[] = {
        "stream.send(b'\\xff\\xff\\xff\\xff')",
        "import socket\nstream.shutdown(socket.SHUT_WR)",
    };
    for (auto const* end : ends) {
        INFO(end);
        kernel_box<> box;
        auto const pid = std::stoi(box.run("import os\nprint(os.getpid())"));
        auto const r =
            box->execute("stream = get_ipython().kernel.link.socket\n" + std::string(end) + "\nwhile True: pass");
        REQUIRE_FALSE(r);
        CHECK((r.error() == errc::kernel_died || r.error() == errc::message_too_large));
        auto const deadline = std::chrono::steady_clock::now() + 10s;
        while (::kill(pid, 0) == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
        CHECK(::kill(pid, 0) != 0);
    }
}

TEST_CASE("exit() ends a kernel that does not come to its end", "[kernel]") {
    kernel_box<> box;
    CHECK(box.run("import atexit, time\natexit.register(time.sleep, 60)\nprint('bye')\nexit()") == "bye");
    auto const after = box->execute("1");
    REQUIRE_FALSE(after);
    CHECK(after.error() == errc::kernel_died);
    REQUIRE(box->reset());
    CHECK(box.run("1") == "1");
}

TEST_CASE("a kernel that runs out of memory is a dead kernel", "[kernel]") {
    kernel_box<> box;
    auto const r = box->execute(
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))\nprint('limited')\nx = []\n"
        "try:\n    while True: x.append(bytearray(16 << 20))\nexcept MemoryError:\n    import os, signal\n    "
        "os.kill(os.getpid(), signal.SIGKILL)");
    REQUIRE_FALSE(r);
    CHECK(r.error().status().signal == SIGKILL);
}

TEST_CASE("Q15 what a dead kernel leaves behind is ended", "[kernel]") {
    kernel_box<> box;
    auto const pids = box.run("import subprocess, os\nchild = subprocess.Popen(['sleep', '1000'])\n"
                              "apart = subprocess.Popen(['setsid', 'sleep', '1000'])\n"
                              "daemon = subprocess.check_output(\"setsid sh -c 'sleep 1000 >/dev/null 2>&1 & echo "
                              "$!'\", shell=True, text=True).strip()\n"
                              "print(child.pid, apart.pid, daemon)");
    REQUIRE(box->execute("os._exit(1)").error() == errc::kernel_died);
    REQUIRE(box->reset()); // the supervisor reports the death when everything is gone
    std::istringstream numbers(pids);
    for (int pid = 0; numbers >> pid;) {
        INFO(pids);
        CHECK((::kill(pid, 0) != 0 || read_file("/proc/" + std::to_string(pid) + "/cmdline").empty()));
    }
}

TEST_CASE("the supervisor's death is an error, and reset brings a new one", "[kernel]") {
    kernel_box<> box;
    auto const supervisor = box.run("import os\nprint(os.getppid())");
    REQUIRE(::kill(std::stoi(supervisor), SIGKILL) == 0);
    auto const deadline = std::chrono::steady_clock::now() + 5s;
    while (box->state() != executor::kernel_state::dead && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
    auto const r = box->execute("1");
    REQUIRE_FALSE(r);
    CHECK(r.error() == condition::kernel_lost);
    REQUIRE(box->reset());
    CHECK(box.run("1") == "1");
}
