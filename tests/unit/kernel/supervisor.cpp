#include <ipybox/kernel/kernel_options.hpp>
#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/os/datagram.hpp>

#include <support/catch.hpp>
#include <support/coroutines.hpp>
#include <support/denied_call.hpp>
#include <support/python.hpp>
#include <support/scratch_dir.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace ipybox;
using ipybox::detail::kernel_guard;
using ipybox::detail::kernel_launch;
using ipybox::detail::supervisor;
using ipybox::detail::supervisor_options;
using namespace std::chrono_literals;

namespace {

/// How each scripted supervisor begins: it says that it is ready.
constexpr std::string_view says_ready = R"(
import json, socket, sys
control = socket.socket(fileno=int(sys.argv[1]))
control.recv(1 << 17)
ready = {"event": "ready", "executable": "x", "python": "3", "ipykernel": "7", "ipython": "9", "level": "lean"}
control.send(json.dumps(ready).encode())
)";

/// Refuses whatever it is asked for.
std::string const refusing = std::string(says_ready) + R"(
kind, errno = sys.argv[2:]
while asked := control.recv(1 << 17):
    why = {"kind": kind, "text": "seccomp is missing here", "errno": int(errno)}
    control.send(json.dumps({"id": json.loads(asked)["id"], "error": why}).encode())
)";

/// Goes on talking without being asked.
std::string const flooding = std::string(says_ready) + R"(
while True:
    control.send(b'{"event": "noise"}')
)";

/// Answers with JSON as deep as a datagram takes.
std::string const deep = std::string(says_ready) + R"(
number = json.loads(control.recv(1 << 17))["id"]
control.send(b'{"id": %d, "pid": ' % number + b"[" * 60000 + b"]" * 60000 + b"}")
control.recv(1)
)";

/// Answers with a text of a length.
std::string const answering = std::string(says_ready) + R"(
while asked := control.recv(1 << 17):
    why = {"kind": "fork", "text": "x" * int(sys.argv[2])}
    control.send(json.dumps({"id": json.loads(asked)["id"], "error": why}).encode())
)";

/// A supervisor whose part a script plays; it gets the number of its socket and the arguments.
supervisor_options scripted_by(std::string const& script, std::vector<std::string> const& arguments = {}) {
    supervisor_options options;
    options.python = test::python();
    options.working_dir = std::filesystem::temp_directory_path();
    options.wrap = [script, arguments](launch_spec spec) -> result<launch_spec> {
        spec.argv = {test::python().string(), "-c", script, std::to_string(spec.control_fd)};
        spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
        return spec;
    };
    return options;
}

kernel_launch launch_in_tmp() {
    kernel_launch launch;
    launch.working_dir = std::filesystem::temp_directory_path();
    return launch;
}

/// Why a supervisor does not fork.
error not_forked(asio::io_context& context, supervisor& scripted, kernel_launch launch = launch_in_tmp()) {
    auto pair = os::make_stream_pair(1 << 16);
    REQUIRE(pair);
    auto const forked = test::run(context, scripted.fork(std::move(launch), std::move(pair->theirs)));
    REQUIRE_FALSE(forked);
    return forked.error();
}

/// What becomes of a kernel that is refused so.
error refused(std::string const& kind, std::string const& number) {
    asio::io_context context;
    supervisor scripted(context.get_executor(), scripted_by(refusing, {kind, number}));
    auto launch = launch_in_tmp();
    launch.guard = kernel_guard::no_exec;
    return not_forked(context, scripted, std::move(launch));
}

/// While it lives, there are pieces of 16 KiB, and no larger ones.
class little_memory {
  public:
    little_memory() : pieces_(256) {
        for (auto& piece : pieces_) piece = std::make_unique<char[]>(16 * 1024);
        ::getrlimit(RLIMIT_AS, &before_);
        rlimit const no_more{1, before_.rlim_max};
        larger_.reserve(10'000);
        ::setrlimit(RLIMIT_AS, &no_more);
        while (larger_.size() < larger_.capacity()) {
            larger_.emplace_back(new (std::nothrow) char[32 * 1024]);
            if (!larger_.back()) break;
        }
        // Each second one stays, so that they do not make a large piece together.
        for (std::size_t i = 0; i < pieces_.size(); i += 2) pieces_[i].reset();
    }
    little_memory(little_memory const&) = delete;
    little_memory& operator=(little_memory const&) = delete;
    ~little_memory() { ::setrlimit(RLIMIT_AS, &before_); }

  private:
    std::vector<std::unique_ptr<char[]>> pieces_;
    std::vector<std::unique_ptr<char[]>> larger_;
    rlimit before_{};
};

/// Why a supervisor does not fork whose answer comes when there is no more memory.
error answered_with_little_memory(int length) {
    asio::io_context context;
    supervisor scripted(context.get_executor(), scripted_by(answering, {std::to_string(length)}));
    REQUIRE(test::run(context, scripted.ready(20s)));
    little_memory const here;
    return not_forked(context, scripted);
}

/// Handlers of the application that run one after the other.
asio::awaitable<bool> some_handlers(int count) {
    auto const executor = co_await asio::this_coro::executor;
    for (int i = 0; i < count; ++i) {
        asio::steady_timer timer(executor, 1ms);
        co_await timer.async_wait(asio::use_awaitable);
    }
    co_return true;
}

/// Runs something on a thread that can be denied system calls, for a filter stays.
template <class Function>
void on_a_thread(Function run) {
    std::exception_ptr thrown;
    std::thread([&] {
        try {
            run();
        } catch (...) { thrown = std::current_exception(); }
    }).join();
    if (thrown) std::rethrow_exception(thrown);
}

/// Why a supervisor that is started so does not become ready.
error not_ready(std::filesystem::path const& python, std::vector<std::string> const& in_front,
                std::chrono::milliseconds bound = 20s) {
    asio::io_context context;
    supervisor_options options;
    options.python = python;
    options.working_dir = std::filesystem::temp_directory_path();
    options.wrap = [&](launch_spec spec) -> result<launch_spec> {
        spec.argv.insert(spec.argv.begin(), in_front.begin(), in_front.end());
        return spec;
    };
    supervisor asked(context.get_executor(), std::move(options));
    auto const ready = test::run(context, asked.ready(bound));
    REQUIRE_FALSE(ready);
    return ready.error();
}

} // namespace

TEST_CASE("supervisor: a sandbox whose command fails is named, and not only the interpreter") {
    auto const text = not_ready(test::python(), {"/bin/false"}).text();
    INFO(text);
    CHECK(text.find("does the sandbox's command /bin/false start the program behind it") != std::string::npos);
    CHECK(not_ready("/bin/true", {}).text().find("it said nothing: is /bin/true a Python interpreter?") !=
          std::string::npos);
    CHECK(not_ready("/bin/true", {}) == errc::kernel_start_failed);
}

TEST_CASE("supervisor: a program that is not Python is named, and its quotes of our text are cut") {
    auto const text = not_ready("/bin/ls", {}).text();
    INFO(text);
    CHECK(text.find("its command was /bin/ls …; it said:\n/bin/ls: cannot access") != std::string::npos);
    CHECK(text.ends_with("Does this command start a Python interpreter?"));
    CHECK(text.size() < 2000);
}

TEST_CASE("supervisor: a sandbox whose command does not go on is named") {
    auto const text = not_ready(test::python(), {"/bin/sh", "-c", "exec sleep 60", "sh"}, 200ms).text();
    INFO(text);
    CHECK(text.find("did not answer within 200 ms; does its command, /bin/sh … ") != std::string::npos);
    CHECK(text.find("raise kernel.init_timeout") != std::string::npos);
}

TEST_CASE("supervisor: a sandbox that closes the control descriptor hears of it") {
    auto const close = "import os, time; os.closerange(3, 1000); time.sleep(60)";
    auto const text = not_ready(test::python(), {test::python().string(), "-c", close}).text();
    INFO(text);
    CHECK(text.find("the supervisor's control descriptor was closed before it was ready: does its command, ") == 0);
    CHECK(text.ends_with(", leave that open?"));
}

TEST_CASE("supervisor: a current directory that does not exist any more is named") {
    asio::io_context context;
    auto options = scripted_by(refusing, {"fork", "11"});
    options.working_dir = "."; // which cannot be completed then
    supervisor lost(context.get_executor(), std::move(options));
    auto const ready = test::run(context, lost.ready(20s));
    REQUIRE_FALSE(ready);
    CHECK(ready.error() == errc::invalid_argument);
    CHECK(ready.error().text().find("set `working_dir`") != std::string::npos);
}

TEST_CASE("supervisor: of what it says at its end the last 16 KiB are kept") {
    std::string const line = std::string(63, '0') + "\n";
    auto const said = [](int lines) {
        auto const command = "yes $(printf '%063d' 0) | head -n " + std::to_string(lines) + " >&2; exit 3";
        auto const text = not_ready(test::python(), {"/bin/sh", "-c", command}).text();
        return text.substr(text.find("it said:\n") + 9);
    };
    std::string kept;
    while (kept.size() < 16 * 1024) kept += line;
    kept += "Does this command start a Python interpreter?";
    CHECK((said(256) == kept));
    CHECK((said(257) == kept));
    CHECK((said(20'000) == kept));
}

TEST_CASE("supervisor: why it refuses a kernel") {
    auto const guard = refused("guard", "38");
    CHECK(guard == errc::guard_unavailable);
    CHECK(guard.text().starts_with("seccomp is missing here"));
    CHECK(refused("cwd", "2") == errc::invalid_argument);
    CHECK(refused("fork", "11") == errc::kernel_start_failed);
}

TEST_CASE("supervisor: one that talks without end keeps no executor from its other handlers") {
    asio::io_context context;
    supervisor scripted(context.get_executor(), scripted_by(flooding));
    REQUIRE(test::run(context, scripted.ready(20s)));
    CHECK(test::run(context, some_handlers(50)));
}

TEST_CASE("supervisor: an answer that nests without end breaks the protocol, and nothing else") {
    asio::io_context context;
    supervisor scripted(context.get_executor(), scripted_by(deep));
    REQUIRE(test::run(context, scripted.ready(20s)));
    auto const why = not_forked(context, scripted);
    CHECK(why == errc::protocol_error);
    CHECK(why.text().find("nests too deeply") != std::string::npos);
}

// AddressSanitizer needs memory of its own.
TEST_CASE("supervisor: an answer is received though there is little memory", "[large]") {
    CHECK(answered_with_little_memory(1) == errc::kernel_start_failed);
}

TEST_CASE("supervisor: an answer that no memory is left for is its end, and not that of the context", "[large]") {
    auto const why = answered_with_little_memory(100'000);
    CHECK(why == errc::io_error);
    CHECK(why.text().find("the host could not do this") != std::string::npos);
}

TEST_CASE("supervisor: a request that the system does not send fails at once, and alone") {
    error unsent(errc::io_error, "");
    error undoubled(errc::io_error, "");
    error answered(errc::io_error, "");
    on_a_thread([&] {
        asio::io_context context;
        supervisor scripted(context.get_executor(), scripted_by(refusing, {"fork", "11"}));
        REQUIRE(test::run(context, scripted.ready(20s)));
        answered = not_forked(context, scripted);
        {
            // No descriptor for a second socket, as where too many are open.
            test::deny_call_with(SYS_fcntl, {{1, F_DUPFD_CLOEXEC}, {2, 0}}, EMFILE);
            auto launch = launch_in_tmp();
            auto pair = os::make_stream_pair(1 << 16);
            REQUIRE(pair);
            launch.action_socket = std::make_shared<os::unique_fd const>(std::move(pair->theirs));
            undoubled = not_forked(context, scripted, std::move(launch));
        }
        test::deny_call_with(SYS_sendmsg, {}, ENOBUFS);
        auto const began = std::chrono::steady_clock::now();
        unsent = not_forked(context, scripted);
        CHECK(std::chrono::steady_clock::now() - began < 20s); // the bound of a start is 30 s
    });
    CHECK(answered == errc::kernel_start_failed);
    CHECK(undoubled.text() == "a descriptor for the kernel: Too many open files");
    CHECK(unsent.text() == "sending to the supervisor: No buffer space available");
}

TEST_CASE("supervisor: without a descriptor for its end it is not started, and no process is left") {
    on_a_thread([] {
        asio::io_context context;
        supervisor scripted(context.get_executor(), scripted_by(refusing, {"fork", "11"}));
        test::deny_call_with(SYS_fcntl, {{1, F_DUPFD_CLOEXEC}, {2, 0}}, EMFILE);
        auto const ready = test::run(context, scripted.ready(20s));
        REQUIRE_FALSE(ready);
        CHECK(ready.error().text() == "a descriptor for the supervisor: Too many open files");
        CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
    });
}

TEST_CASE("supervisor: how one ended is waited for without holding up other handlers") {
    // Closes its socket, says so, and stays a while.
    constexpr char const* leaving =
        "import os, sys, time\nos.close(int(sys.argv[1]))\nopen(sys.argv[2], 'w')\ntime.sleep(60)";
    test::scratch_dir const dir;
    auto const closed = dir.path() / "closed";
    asio::io_context context;
    supervisor scripted(context.get_executor(), scripted_by(leaving, {closed.string()}));
    int ticks = 0; // since it has closed its socket
    bool over = false;
    auto const count = [&]() -> asio::awaitable<void> {
        while (!over) {
            (void)co_await some_handlers(1);
            if (std::filesystem::exists(closed)) ++ticks;
        }
    };
    asio::co_spawn(context, count(), asio::detached);
    auto const ready = test::run(context, scripted.ready(20s));
    over = true;
    REQUIRE_FALSE(ready);
    CHECK(ready.error() == errc::kernel_start_failed);
    CHECK(ticks > 10);
}
