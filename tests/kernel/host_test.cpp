#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <utility>

#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/eventually.hpp"
#include "support/kernel_box.hpp"

/** \file
 * Hosts as they are: what an application does with signals, forks and names.
 */

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;

bool runs(pid_t pid) {
    std::string stat; // reading fails where the process ends meanwhile
    std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), stat);
    return !stat.empty() && stat.find(") Z") == std::string::npos;
}

} // namespace

TEST_CASE("names that are not UTF-8 arrive byte for byte", "[kernel][compat]") {
    std::string const name = "d\xff\xc3\xa9";
    kernel_box<> box([&](executor_options& o) {
        o.working_dir /= name;
        std::filesystem::create_directories(o.working_dir);
        o.kernel.env["VALUE"] = "a\xff"
                                "b";
        o.kernel.env["N\xfe"] = "x";
    });
    CHECK(box.run("import os; print(os.path.basename(os.getcwdb()), os.environb[b'VALUE'], os.environb[b'N\\xfe'])") ==
          R"(b'd\xff\xc3\xa9' b'a\xffb' b'x')");
    CHECK(box.run("open('f', 'w').write('7')") == "1");
    CHECK(read_file(box.options().working_dir / "f") == "7");
}

TEST_CASE("a directory that is not UTF-8 and not there any more is an error, and the supervisor lives on", "[kernel]") {
    kernel_box<> box([](executor_options& o) {
        o.working_dir /= "gone\xff";
        std::filesystem::create_directories(o.working_dir);
    });
    auto const supervisor = box.run("import os; print(os.getppid())");
    std::filesystem::remove(box.options().working_dir);
    auto const r = box->reset();
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::invalid_argument);
    CHECK_THAT(r.error().text(), Contains("/gone?: No such file or directory"));
    std::filesystem::create_directories(box.options().working_dir);
    CHECK(box->start());
}

TEST_CASE("commands in a directory that is not UTF-8 say that they cannot be shown", "[kernel]") {
    scratch_dir dir;
    auto options = options_in(dir.path());
    options.working_dir /= "d\xff";
    std::filesystem::create_directories(options.working_dir);
    executor box(options, any_approval(auto_approval()), unsandboxed);
    auto const r = box.execute("x = 7\n!echo hi");
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::python_error);
    CHECK_THAT(r.error().text(), Contains("OSError") && Contains("not UTF-8"));
    CHECK_THAT(text_of(box.execute("import os; os.chdir('/')\n!echo hi{x}")), Contains("hi7"));
}

TEST_CASE("long names", "[kernel]") {
    kernel_box<> box([](executor_options& o) {
        // Far beyond what the address of a Unix socket holds.
        for (int i = 0; i < 12; ++i) o.working_dir /= std::string(200, 'w');
        o.output.images_dir = o.working_dir / "images";
        std::filesystem::create_directories(o.working_dir);
    });
    CHECK(box.run("import os; print(len(os.getcwd()) > 2400)") == "True");
    CHECK(box.run("from IPython.display import Image; display(Image(data=bytes(10)))") != "");
}

TEST_CASE("long names over ZeroMQ", "[kernel]") {
    kernel_box<zmq_transport> box([](executor_options& o) {
        for (int i = 0; i < 12; ++i) o.working_dir /= std::string(200, 'w');
        std::filesystem::create_directories(o.working_dir);
    });
    CHECK(box.run("import os; print(len(os.getcwd()) > 2400)") == "True");
}

TEST_CASE("a host that blocks or ignores signals", "[kernel]") {
    auto const before = std::signal(SIGCHLD, SIG_IGN);
    sigset_t all;
    sigset_t mask;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &mask);
    {
        kernel_box<> box;
        CHECK(box.run("import signal; print(len(signal.pthread_sigmask(signal.SIG_BLOCK, ())))") == "0");
        auto const interrupted = box->execute("import time; time.sleep(60)", {.timeout = 300ms});
        REQUIRE_FALSE(interrupted);
        CHECK(interrupted.error() == errc::timed_out);
        CHECK(box.run("time.__name__") == "'time'"); // the same kernel
        auto const died = box->execute("import os; os.kill(os.getpid(), 9)");
        REQUIRE_FALSE(died);
        CHECK(died.error().status().signal == SIGKILL);
        CHECK(box->reset());
        CHECK(box.run("1") == "1");
    }
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    std::signal(SIGCHLD, before);
}

TEST_CASE("a forked child of the host ends nothing of its parent's", "[kernel]") {
    kernel_box<> box;
    auto stream = box->stream("x = 7\nprint(x)");
    while (stream.next()) {}
    auto const pid = std::stoi(box.run("import os; print(os.getppid())"));
    pid_t const child = ::fork();
    if (child == 0) {
        auto const refused = box->execute("1");
        bool const said = !refused && refused.error() == errc::not_running;
        { auto const dropped = std::move(stream); }
        box.drop();
        ::_exit(said ? 0 : 1);
    }
    CHECK(end_of(child) == "0");
    CHECK(runs(pid));
    CHECK(box.run("x") == "7");
    CHECK(box->stop());
    CHECK(eventually([&] { return !runs(pid); }));
}

TEST_CASE("a forked child of the host that ends as a program does disturbs nothing of its parent's", "[kernel]") {
    pid_t const host = ::fork();
    if (host == 0) {
        // What the stacks of threads refer to looks lost in a fork, which has no such threads.
        ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        ::execl("/proc/self/exe", "kernel_tests", "the host whose child ends as a program does", nullptr);
        ::_exit(1);
    }
    CHECK(end_of(host) == "0");
}

TEST_CASE("the host whose child ends as a program does", "[.victim]") {
    // What is static is destroyed in the child too.
    scratch_dir const dir;
    static asio::io_context context;
    static runtime const shared({.working_dir = dir.path(), .kernel = {.python = python()}}, unsandboxed);
    static std::optional<executor> own(std::in_place, options_in(dir.path()), any_approval(), unsandboxed);
    static std::optional<executor> tenant(std::in_place, options_in(dir.path()), any_approval(), shared);
    static std::optional<executor> guest(std::in_place, context.get_executor(), options_in(dir.path()), any_approval(),
                                         unsandboxed);
    auto const on_guest = [](std::string code) {
        auto answer = guest->async_execute(std::move(code), {}, asio::use_future);
        while (answer.wait_for(0s) != std::future_status::ready) context.run_for(5ms);
        return text_of(answer.get());
    };
    auto const running = [](executor& box) { return text_of(box.execute("x = 7\nimport os; print(os.getppid())")); };
    REQUIRE(std::stoi(running(*own)) > 0);
    REQUIRE(std::stoi(running(*tenant)) > 0);
    REQUIRE(on_guest("x = 7") == "");

    context.notify_fork(asio::execution_context::fork_prepare);
    pid_t const child = ::fork();
    if (child == 0) {
        context.notify_fork(asio::execution_context::fork_child);
        own.reset();
        std::exit(0);
    }
    context.notify_fork(asio::execution_context::fork_parent);
    CHECK(end_of(child) == "0");
    CHECK(text_of(own->execute("x")) == "7");
    CHECK(text_of(tenant->execute("x")) == "7");
    CHECK(on_guest("x") == "7");
    CHECK(tenant->reset());
    CHECK(text_of(tenant->execute("1")) == "1");
    CHECK(own->reset());
}

TEST_CASE("a forked child that lives on keeps no kernel of a killed host alive", "[kernel]") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid_t const host = ::fork();
    if (host == 0) {
        ::setenv("IPYBOX_TEST_REPORT", std::to_string(ends[1]).c_str(), 1);
        ::execl("/proc/self/exe", "kernel_tests", "the forking victim of the case above", nullptr);
        ::_exit(1);
    }
    ::close(ends[1]);
    int pids[3] = {-1, -1, -1}; // supervisor, kernel, the child that lives on
    std::size_t got = 0;
    while (got < sizeof pids) {
        auto const count = ::read(ends[0], reinterpret_cast<char*>(pids) + got, sizeof pids - got);
        if (count <= 0) break;
        got += static_cast<std::size_t>(count);
    }
    REQUIRE(got == sizeof pids);
    ::kill(host, SIGKILL);
    ::waitpid(host, nullptr, 0);
    CHECK(eventually([&] { return !runs(pids[0]) && !runs(pids[1]); }));
    CHECK(runs(pids[2]));
    ::kill(pids[2], SIGKILL);
    ::close(ends[0]);
}

TEST_CASE("the forking victim of the case above", "[.victim]") {
    char const* const report = std::getenv("IPYBOX_TEST_REPORT");
    REQUIRE(report);
    kernel_box<> box;
    int pids[3] = {std::stoi(box.run("import os; print(os.getppid())")), std::stoi(box.run("print(os.getpid())")), -1};
    pids[2] = ::fork();
    if (pids[2] == 0)
        for (;;) ::pause();
    REQUIRE(::write(std::stoi(report), pids, sizeof pids) == sizeof pids);
    for (;;) ::pause();
}
