#include <chrono>
#include <csignal>
#include <string>

#include "support/catch.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;

constexpr std::uint64_t mib = 1024 * 1024;

/// The text of a cell, or the name of the error that ended it.
template <class Box>
std::string outcome(Box& box, std::string const& code) {
    return box.run("try: " + code + "\nexcept Exception as error: print(type(error).__name__)");
}

} // namespace

TEMPLATE_TEST_CASE("limits: what the code cannot have is an error of the code, and the kernel goes on", "[kernel]",
                   no_sandbox, bubblewrap_sandbox) {
    kernel_box<socketpair_transport, TestType> box([](executor_options& options) {
        options.sandbox.limits.memory = 800 * mib;
        options.sandbox.limits.file_size = 10 * mib;
        options.sandbox.limits.open_files = 200;
    });
    CHECK(outcome(box, "bytearray(1 << 31)") == "MemoryError");
    CHECK(outcome(box, "open('big', 'wb').write(bytes(11 << 20))") == "OSError");
    CHECK(outcome(box, "files = [open('/dev/null') for _ in range(300)]") == "OSError");
    CHECK(outcome(box, "print(len(bytearray(100 << 20)))") == "104857600");
}

TEST_CASE("limits: a kernel that has used its processor time is dead, and the error says why", "[kernel]") {
    kernel_box<> box([](executor_options& options) { options.sandbox.limits.cpu_time = 1s; });
    auto const ended = box->execute("while True: pass");
    REQUIRE_FALSE(ended);
    CHECK(ended.error() == errc::kernel_died);
    CHECK(ended.error().status().signal == SIGXCPU);
    CHECK_THAT(ended.error().text(), Contains("it has used the processor time that its limits give"));
    REQUIRE(box->reset());
    CHECK(box.run("1") == "1");
}

TEST_CASE("limits: by default no more memory than the machine has", "[kernel]") {
    kernel_box<> box;
    auto const machine = std::to_string(sandbox_limits().memory.value());
    CHECK(box.run("import resource\nresource.getrlimit(resource.RLIMIT_DATA) == (" + machine + ", " + machine + ")") ==
          "True");
    CHECK(box.run("resource.getrlimit(resource.RLIMIT_CORE)") == "(1, 1)");
}

TEST_CASE("limits: none of them leaves what the application itself may take", "[kernel]") {
    kernel_box<> box([](executor_options& options) {
        options.sandbox.limits = {.memory = {}, .processes = {}, .cpu_time = {}, .file_size = {}, .open_files = {}};
    });
    CHECK(box.run("import resource\nresource.getrlimit(resource.RLIMIT_DATA) == (-1, -1)") == "True");
}

TEST_CASE("limits: executors of a runtime have its limits", "[kernel]") {
    scratch_dir const dir;
    auto options = options_in(dir.path());
    runtime::options shared{.working_dir = dir.path(), .kernel = {.python = python()}};
    shared.sandbox.limits.memory = 800 * mib;
    executor box(options, any_approval(deny_approval{}), runtime(shared, unsandboxed));
    CHECK(text_of(box.execute("import resource\nresource.getrlimit(resource.RLIMIT_DATA)[0]")) ==
          std::to_string(800 * mib));

    auto same = options;
    same.sandbox.limits = shared.sandbox.limits;
    CHECK(executor(same, any_approval(deny_approval{}), runtime(shared, unsandboxed)).start());
    auto others = options;
    others.sandbox.limits.memory = 300 * mib;
    auto preloads = options;
    preloads.kernel.preload = {"json"};
    for (auto const& asked : {others, preloads}) {
        auto const refused = executor(asked, any_approval(deny_approval{}), runtime(shared, unsandboxed)).start();
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::invalid_argument);
        CHECK_THAT(refused.error().text(), Contains("is not what the executor's runtime has"));
    }
}

namespace {

constexpr char const* fork_bomb = R"(
import os, time
try:
    for _ in range(400):
        if not os.fork(): time.sleep(1000)
    time.sleep(1000)
except BlockingIOError as error: print(type(error).__name__)
)";

constexpr char const* memory_eater = R"(
import time
kept = []
while len(kept) < 1000: kept.append(b'1' * (1 << 20))
time.sleep(1000)
)";

constexpr char const* disk_filler = R"(
for directory in ('/tmp', '/var/tmp', '/dev/shm'):
    try:
        with open(directory + '/fill', 'wb') as file:
            while True: file.write(bytes(1 << 20))
    except OSError as error: print(error.strerror)
)";

} // namespace

TEST_CASE("limits: a fork bomb, too much memory and a full disk leave the host and the other kernels working",
          "[kernel]") {
    scratch_dir const dir;
    auto const options = options_in(dir.path());
    runtime::options shared{.working_dir = dir.path(), .kernel = {.python = python()}};
    shared.sandbox.limits.processes = 100;
    shared.sandbox.limits.kernel_memory = 500 * mib;
    runtime const both(shared, bubblewrap_sandbox({.tmpfs_size = 20 * mib}));
    executor attacker(options, any_approval(deny_approval{}), both);
    executor neighbour(options, any_approval(deny_approval{}), both);
    REQUIRE(text_of(neighbour.execute("kept = 41")).empty());
    auto const others_work = [&] {
        CHECK(text_of(neighbour.execute("kept += 1; kept")) != "");
        REQUIRE(attacker.reset());
        CHECK(text_of(attacker.execute("6 * 7")) == "42");
    };

    execute_options const bounded{.timeout = 60s};
    auto const bomb = attacker.execute(fork_bomb, bounded);
    if (bomb) { // the system counts processes: of users that are not root
        CHECK(bomb->text == "BlockingIOError");
    } else {
        CHECK(bomb.error() == errc::kernel_died);
        REQUIRE(bomb.error().status().exceeded);
        CHECK(bomb.error().status().exceeded->which == exit_status::exceeded_limit::kind::processes);
        CHECK_THAT(bomb.error().text(), Contains("its limit is 100 (`processes`)"));
    }
    others_work();

    auto const eaten = attacker.execute(memory_eater, bounded);
    REQUIRE_FALSE(eaten);
    CHECK(eaten.error() == errc::kernel_died);
    CHECK(eaten.error().status().signal == SIGKILL);
    REQUIRE(eaten.error().status().exceeded);
    CHECK(eaten.error().status().exceeded->which == exit_status::exceeded_limit::kind::memory);
    CHECK(eaten.error().status().exceeded->allowed == 500 * mib);
    CHECK_THAT(eaten.error().text(), Contains("out of memory: it took"));
    others_work();

    CHECK(text_of(attacker.execute(disk_filler, bounded)) ==
          "No space left on device\nNo space left on device\nNo space left on device");
    CHECK(text_of(attacker.execute("6 * 7")) == "42");
    others_work();
    CHECK(text_of(neighbour.execute("kept")) == "44");
}

TEST_CASE("limits: what a cell of no time has left at work is looked at", "[kernel]") {
    test::scratch_dir const dir;
    auto options = options_in(dir.path());
    options.sandbox.limits.kernel_memory = 300 * mib;
    executor box(options, deny_approval{}, test::unsandboxed);
    REQUIRE(text_of(box.execute("kept = []")).empty());
    auto const eaten = "import threading, time\n"
                       "def eat():\n"
                       "    while len(kept) < 400: kept.append(b'1' * (1 << 20))\n"
                       "    time.sleep(60)\n"
                       "threading.Thread(target=eat, daemon=True).start()";
    REQUIRE(text_of(box.execute(eaten)).empty());
    // Each of these ends long before code counts as long.
    auto last = box.execute("time.sleep(0.02)");
    for (int i = 0; i < 500 && last; ++i) last = box.execute("time.sleep(0.02)");
    REQUIRE_FALSE(last);
    CHECK(last.error() == errc::kernel_died);
    CHECK(last.error().status().exceeded);
}
