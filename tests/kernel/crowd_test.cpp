// Many executors at once, executors in odd places, and hosts that do other things meanwhile.

#include <ipybox/ipybox.hpp>

#include <support/catch.hpp>
#include <support/child.hpp>
#include <support/eventually.hpp>
#include <support/held_thread.hpp>
#include <support/holdings.hpp>
#include <support/kernel_box.hpp>

#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// Starts a program again and again while it lives: between fork and exec it has a copy of all that this process holds.
class busy_forker {
  public:
    busy_forker()
        : ordinary_(descriptors_of_one()), thread_([this](std::stop_token const& stop) {
              while (!stop.stop_requested()) start_one();
          }) {}

    [[nodiscard]] int started() const { return started_; }
    /// Programs that found descriptors of what was begun behind this object.
    [[nodiscard]] int heirs() const { return heirs_; }

  private:
    void start_one() {
        auto const descriptors = descriptors_of_one();
        ++started_;
        if (descriptors > ordinary_) ++heirs_;
    }

    int descriptors_of_one() const {
        auto const pid = ::fork();
        if (pid == 0) {
            ::execl("/bin/sh", "sh", "-c", "set -- /proc/$$/fd/*; exit $#", nullptr);
            ::_exit(127);
        }
        int status = 0;
        ::waitpid(pid, &status, 0);
        return WEXITSTATUS(status);
    }

    int const ordinary_;
    std::atomic<int> started_ = 0;
    std::atomic<int> heirs_ = 0;
    std::jthread thread_;
};

bool goes_away(pid_t pid) {
    return eventually([pid] { return ::kill(pid, 0) != 0; });
}

/// Runs one of the hidden cases below in a program of its own, to its very end.
std::string end_of_program(std::string const& hidden, std::filesystem::path const& notes) {
    auto const pid = ::fork();
    if (pid == 0) {
        ::setenv("IPYBOX_TEST_NOTES", notes.c_str(), 1);
        ::execl("/proc/self/exe", "kernel_tests", hidden.c_str(), nullptr);
        ::_exit(127);
    }
    return end_of(pid);
}

/// What a hidden case runs: tells the kernel's process and the one above it.
void note_processes(executor& box) {
    auto const about = box.execute("import os\nprint(os.getpid(), os.getppid())");
    REQUIRE(about);
    std::ofstream(std::getenv("IPYBOX_TEST_NOTES")) << about->text;
}

std::unique_ptr<executor> plain_executor(std::filesystem::path const& dir) {
    return std::make_unique<executor>(options_in(dir), any_approval(), unsandboxed);
}

} // namespace

TEST_CASE("200 executors share a runtime", "[kernel]") {
    scratch_dir const dir;
    runtime const shared(runtime::options{.working_dir = dir.path(), .kernel = {.python = python()}}, unsandboxed);
    std::vector<std::unique_ptr<executor>> boxes;
    std::vector<std::future<result<execution_result>>> cells;
    for (int i = 0; i < 200; ++i) {
        boxes.push_back(std::make_unique<executor>(options_in(dir.path()), any_approval(), shared));
        cells.push_back(boxes.back()->async_execute("x = " + std::to_string(i), {}, asio::use_future));
    }
    for (auto& cell : cells) REQUIRE(cell.get());
    cells.clear();
    for (auto const& box : boxes)
        cells.push_back(box->async_execute("import os\nprint(x, os.getpid())", {}, asio::use_future));
    std::vector<pid_t> kernels;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        auto const said = cells[i].get();
        REQUIRE(said);
        auto const blank = said->text.find(' ');
        CHECK(said->text.substr(0, blank) == std::to_string(i));
        kernels.push_back(std::stoi(said->text.substr(blank)));
    }
    for (std::size_t i = 0; i < boxes.size(); i += 2) boxes[i].reset();
    for (std::size_t i = 0; i < boxes.size(); i += 2) CHECK(goes_away(kernels[i]));
    CHECK(text_of(boxes[1]->execute("x")) == "1"); // the others go on
    boxes.clear();
    for (auto const kernel : kernels) CHECK(goes_away(kernel));
}

TEST_CASE("two runtimes start, run and end while another thread starts programs", "[kernel]") {
    scratch_dir const dir;
    busy_forker const forker;
    for (int round = 0; round < 5; ++round) {
        auto const begin = [&] {
            return runtime(runtime::options{.working_dir = dir.path(), .kernel = {.python = python()}}, unsandboxed);
        };
        std::vector<pid_t> kernels;
        {
            runtime const first = begin(), second = begin();
            for (auto const& shared : {first, second}) {
                executor box(options_in(dir.path()), any_approval(), shared);
                auto const pid = text_of(box.execute("import os\nos.getpid()"));
                CHECK(text_of(box.execute("!echo on")) == "on");
                REQUIRE(box.reset());
                CHECK(goes_away(std::stoi(pid)));
                kernels.push_back(std::stoi(text_of(box.execute("import os\nos.getpid()"))));
            }
        }
        for (auto const kernel : kernels) CHECK(goes_away(kernel));
    }
    CHECK(eventually([&] { return forker.started() > 0; }));
    CHECK(forker.heirs() == 0);
}

TEST_CASE("an executor of a thread ends with the thread", "[kernel]") {
    scratch_dir const dir;
    plain_executor(dir.path())->execute("1").value(); // what a process keeps from its first executor on does not count
    holdings before;
    REQUIRE(eventually([&before] {
        auto const last = std::exchange(before, holdings());
        std::this_thread::sleep_for(200ms);
        return last == before;
    }));
    std::string text;
    std::thread([&] {
        thread_local std::unique_ptr<executor> const box = plain_executor(dir.path());
        text = text_of(box->execute("6 * 7"));
    }).join();
    CHECK(text == "42");
    CHECK(eventually([&] { return holdings() == before; }));
}

TEST_CASE("hidden: a static executor", "[.hidden]") {
    static scratch_dir const dir;
    static std::unique_ptr<executor> const box = plain_executor(dir.path());
    note_processes(*box);
}

TEST_CASE("hidden: a static runtime with executors of threads", "[.hidden]") {
    static scratch_dir const dir;
    static runtime const shared(runtime::options{.working_dir = dir.path(), .kernel = {.python = python()}},
                                unsandboxed);
    thread_local executor box(options_in(dir.path()), any_approval(), shared);
    note_processes(box);
    std::thread([] {
        thread_local executor other(options_in(dir.path()), any_approval(), shared);
        CHECK(text_of(other.execute("1")) == "1");
    }).join();
}

TEST_CASE("hidden: a static executor and a static stream", "[.hidden]") {
    static scratch_dir const dir;
    static std::unique_ptr<executor> const box = plain_executor(dir.path());
    static std::optional<execution_stream> stream;
    note_processes(*box);
    stream.emplace(box->stream("print('begun')\nwhile True: pass"));
    REQUIRE(stream->next());
}

TEST_CASE("a program ends with executors that are static or of its main thread", "[kernel]") {
    scratch_dir const dir;
    auto const notes = dir.path() / "notes";
    for (auto const* hidden : {"hidden: a static executor", "hidden: a static runtime with executors of threads",
                               "hidden: a static executor and a static stream"}) {
        INFO(hidden);
        CHECK(end_of_program(hidden, notes) == "0");
        pid_t kernel = 0, above = 0;
        std::ifstream(notes) >> kernel >> above;
        REQUIRE(kernel > 0);
        CHECK(goes_away(kernel));
        CHECK(goes_away(above));
        std::filesystem::remove(notes);
    }
}

TEST_CASE("a context is destroyed while large arguments of a tool are read", "[kernel]") {
    mcp::server_params tools;
    tools.command = python().string();
    tools.args = {(source_dir() / "tests/support/tool_server.py").string()};
    for (bool const executor_first : {true, false}) {
        scratch_dir const dir;
        auto options = options_in(dir.path());
        options.approval.tool_calls = false;
        auto context = std::make_unique<asio::io_context>();
        auto box = std::make_unique<executor>(context->get_executor(), options, any_approval(), unsandboxed);
        REQUIRE(box->register_mcp_server("tools", tools));
        auto ready = box->async_execute("import json\nfrom ipybox_kernel import actions", {}, asio::use_future);
        while (ready.wait_for(0s) != std::future_status::ready) context->run_for(5ms);
        auto const before = threads();
        auto calling = box->async_execute("actions.current.call('call', {'server': 'tools', 'tool': 'sleep'}, "
                                          "json.dumps({'seconds': 60, 'x': 'x' * 64_000_000}).encode())",
                                          {}, asio::use_future);
        auto const is_aside = [&] { return threads() != before; }; // nothing else begins a thread here
        REQUIRE(eventually([&] {
            context->restart();
            context->run_one_for(5ms);
            return is_aside();
        }));
        if (executor_first) box.reset();
        context.reset();
        box.reset();
        CHECK(calling.wait_for(30s) == std::future_status::ready);
        CHECK(eventually([&] { return threads() == before; }));
    }
}
