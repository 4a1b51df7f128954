#include <ipybox/ipybox.hpp>

#include <support/catch.hpp>
#include <support/eventually.hpp>
#include <support/holdings.hpp>
#include <support/kernel_box.hpp>

#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// Runs a context until a future is there.
template <class T>
T served(asio::io_context& context, std::future<T> value) {
    auto const deadline = std::chrono::steady_clock::now() + 60s;
    while (value.wait_for(0s) != std::future_status::ready && std::chrono::steady_clock::now() < deadline)
        context.run_for(5ms);
    return value.get();
}

bool is_gone(pid_t pid) {
    return eventually([pid] { return ::kill(pid, 0) != 0; });
}

/// Lets a stopped process go on at the end of a test.
struct stopped_process {
    explicit stopped_process(pid_t p) : pid(p) { (void)::kill(pid, SIGSTOP); }
    stopped_process(stopped_process const&) = delete;
    stopped_process& operator=(stopped_process const&) = delete;
    ~stopped_process() { (void)::kill(pid, SIGCONT); }
    pid_t pid;
};

} // namespace

TEST_CASE("a context that is destroyed under a running cell leaves nothing behind") {
    scratch_dir const dir;
    auto const files = entries_of("/proc/self/fd");
    auto const threads = entries_of("/proc/self/task");
    for (bool const executor_first : {true, false}) {
        auto context = std::make_unique<asio::io_context>();
        std::optional<executor> box(std::in_place, context->get_executor(), options_in(dir.path()), any_approval(),
                                    unsandboxed);
        auto const about =
            served(*context, box->async_execute("import os\nprint(os.getpid(), os.getppid())", {}, asio::use_future));
        REQUIRE(about);
        auto const kernel = std::stoi(about->text);
        auto const above = std::stoi(about->text.substr(about->text.find(' ')));
        auto running = box->async_execute("while True: pass", {}, asio::use_future);
        auto stream = box->stream("1");
        context->run_for(200ms);
        if (executor_first) box.reset();
        context.reset();
        CHECK(running.get().error() == errc::not_running);
        CHECK(stream.next());
        CHECK_FALSE(stream.next());
        CHECK(is_gone(kernel));
        CHECK(is_gone(above));
        box.reset();
    }
    CHECK(eventually([&] { return entries_of("/proc/self/fd") == files; }));
    CHECK(eventually([&] { return entries_of("/proc/self/task") == threads; }));
}

TEST_CASE("the end of a kernel that is reported when the application's context has gone reaches nothing") {
    scratch_dir const dir;
    runtime const shared({.working_dir = dir.path(), .kernel = {.python = python()}}, unsandboxed);
    for (bool const executor_first : {true, false}) {
        for (char const* code : {"1", "while True: pass"}) {
            auto context = std::make_unique<asio::io_context>();
            std::optional<executor> box(std::in_place, context->get_executor(), options_in(dir.path()), any_approval(),
                                        shared);
            auto const pid =
                served(*context, box->async_execute("import os\nprint(os.getpid())", {}, asio::use_future));
            REQUIRE(pid);
            auto running = box->async_execute(code, {}, asio::use_future);
            context->run_for(200ms);
            if (executor_first) box.reset();
            context.reset();
            box.reset();
            CHECK(running.wait_for(10s) == std::future_status::ready);
            CHECK(is_gone(std::stoi(pid->text)));
        }
    }
}

TEST_CASE("executors end though the supervisor that they share does not answer") {
    scratch_dir const dir;
    runtime const shared({.working_dir = dir.path(), .kernel = {.python = python()}}, unsandboxed);
    std::optional<executor> box(std::in_place, options_in(dir.path()), any_approval(), shared);
    auto const above = box->execute("import os\nprint(os.getppid())");
    REQUIRE(above);
    stopped_process const stopped(std::stoi(above->text));
    auto const began = std::chrono::steady_clock::now();
    box.reset();
    CHECK(std::chrono::steady_clock::now() - began < 15s);
}

TEST_CASE("executors whose runtime has lost its supervisor are told to make another runtime") {
    scratch_dir const dir;
    runtime const shared({.working_dir = dir.path(), .kernel = {.python = python()}}, unsandboxed);
    executor box(options_in(dir.path()), any_approval(), shared);
    auto const above = box.execute("import os\nprint(os.getppid())");
    REQUIRE(above);
    REQUIRE(::kill(std::stoi(above->text), SIGKILL) == 0);
    CHECK(eventually([&] { return box.state() == executor::kernel_state::dead; }));
    for (int i = 0; i < 2; ++i) {
        auto const started = box.reset();
        REQUIRE_FALSE(started);
        CHECK(started.error() == errc::supervisor_died);
        CHECK_THAT(started.error().text(), Catch::Matchers::Contains("make another runtime"));
    }
}

TEST_CASE("a supervisor of its own that does not answer is replaced") {
    kernel_box<> box;
    auto const above = std::stoi(box.run("import os\nprint(os.getppid())"));
    REQUIRE(::kill(above, SIGSTOP) == 0);
    auto const began = std::chrono::steady_clock::now();
    REQUIRE(box->reset());
    CHECK(std::chrono::steady_clock::now() - began < 12s);
    CHECK(is_gone(above));
    CHECK(std::stoi(box.run("import os\nprint(os.getppid())")) != above);
}

TEST_CASE("a sandbox policy that throws, and modules that are no UTF-8, are errors of the start") {
    struct throwing_sandbox {
        [[nodiscard]] result<launch_spec> wrap(launch_spec) const { throw std::runtime_error("a policy's mistake"); }
    };
    kernel_box<socketpair_transport, throwing_sandbox> box;
    auto const started = box->start();
    REQUIRE_FALSE(started);
    CHECK(started.error() == errc::kernel_start_failed);
    CHECK(started.error().text().find("a policy's mistake") != std::string::npos);

    kernel_box<> odd([](executor_options& o) { o.kernel.preload = {"\xff\xfe"}; });
    (void)odd->start(); // an error or a kernel, but no end of this program
}

TEST_CASE("an approval that is given when its executor and its context have gone is late") {
    scratch_dir const dir;
    std::mutex mutex;
    std::optional<approval_request> asked;
    auto const keep = [&](approval_request request) {
        std::scoped_lock const lock(mutex);
        asked.emplace(std::move(request));
    };
    auto context = std::make_unique<asio::io_context>();
    auto options = options_in(dir.path());
    options.approval.shell_cmds = true;
    std::optional<executor> box(std::in_place, context->get_executor(), options, any_approval(callback_approval{keep}),
                                unsandboxed);
    // A thread of the kernel's asks when no cell runs.
    auto const begun = served(
        *context, box->async_execute("import threading, time\nip = get_ipython()\nthreading.Thread(target=lambda: "
                                     "(time.sleep(0.3), ip.system('echo hi')), daemon=True).start()",
                                     {}, asio::use_future));
    REQUIRE(begun);
    for (int i = 0; i < 100 && !asked; ++i) context->run_for(100ms);
    REQUIRE(asked);
    SECTION("the executor first") { box.reset(); }
    SECTION("the context first") {}
    context.reset();
    std::thread([&] { CHECK_FALSE(asked->accept()); }).join();
    box.reset();
}
