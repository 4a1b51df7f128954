#include <ipybox/approval/deny_approval.hpp>
#include <ipybox/basic_executor.hpp>
#include <ipybox/os/process.hpp>
#include <ipybox/transport/impl/tcp_ports.hpp>
#include <ipybox/transport/zmq_transport.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/python.hpp"
#include "support/scratch_dir.hpp"
#include "support/skip.hpp"
#include "support/transport_driver.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using test::contains;
using test::scratch_dir;
using clock_type = std::chrono::steady_clock;

environment kernel_env(std::filesystem::path const& home) {
    return {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", home.string()}, {"LANG", "C.UTF-8"}};
}

detail::supervisor_options supervised_in(std::filesystem::path const& dir) {
    detail::supervisor_options options;
    options.python = test::python();
    options.env = kernel_env(dir);
    options.working_dir = dir;
    options.wrap = [](launch_spec spec) { return result<launch_spec>(std::move(spec)); };
    options.forks_kernels = false;
    return options;
}

/// A sandbox that nothing may be started in.
struct refusing_sandbox {
    [[nodiscard]] result<launch_spec> wrap(launch_spec const&) const {
        return failure(errc::sandbox_unavailable, "nothing was to be started");
    }
};

/// A transport without a sandbox in a directory of its own.
struct box {
    explicit box(zmq_transport::options options = {})
        : driver(zmq_transport(std::move(options)), supervised_in(dir.path())) {}

    [[nodiscard]] kernel_host::launch launch() const {
        kernel_host::launch l;
        l.env = kernel_env(dir.path());
        l.working_dir = dir.path();
        return l;
    }

    result<kernel_host::info> start(bool keep_cwd = true, std::chrono::milliseconds bound = 30s) {
        auto l = launch();
        l.keep_cwd = keep_cwd;
        l.start_bound = bound;
        return driver.start(std::move(l));
    }

    scratch_dir dir;
    test::transport_driver<zmq_transport> driver;
};

/// A kernel that somebody else runs: ipykernel with a connection file.
struct running_kernel {
    explicit running_kernel(std::filesystem::path const& dir,
                            zmq_transport::socket_protocol protocol = zmq_transport::socket_protocol::ipc)
        : file(dir / "kernel.json") {
        jupyter::connection_info info;
        info.protocol = protocol;
        info.ip = protocol == zmq_transport::socket_protocol::ipc ? (dir / "k").string() : "127.0.0.1";
        detail::tcp_ports ports = {1, 2, 3, 4, 5};
        if (protocol == zmq_transport::socket_protocol::tcp) ports = detail::free_tcp_ports().value();
        info.shell_port = ports[0];
        info.iopub_port = ports[1];
        info.stdin_port = ports[2];
        info.control_port = ports[3];
        info.hb_port = ports[4];
        info.key = "not a secret";
        REQUIRE(jupyter::write_connection_file(file, info));
        launch_spec spec;
        spec.argv = {test::python().string(), "-m", "ipykernel_launcher", "-f", file.string()};
        spec.env = kernel_env(dir);
        spec.working_dir = dir;
        auto started = os::start_process(spec, {});
        REQUIRE(started);
        process = std::move(*started);
    }

    /// Attaches as soon as the kernel is up.
    result<kernel_host::info> attach(box& b) const {
        auto const deadline = clock_type::now() + 120s;
        for (;;) {
            auto info = b.start(true, 10s);
            if (info || !(info.error() == errc::kernel_start_failed) || clock_type::now() > deadline) return info;
            std::this_thread::sleep_for(20ms);
        }
    }

    std::filesystem::path file;
    os::process process;
};

/// Voluntary context switches of all threads: how often this process woke up.
long wake_ups() {
    long sum = 0;
    for (auto const& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream in(thread.path() / "status");
        for (std::string line; std::getline(in, line);)
            if (line.starts_with("voluntary_ctxt_switches:")) sum += std::stol(line.substr(line.find(':') + 1));
    }
    return sum;
}

double ms_since(clock_type::time_point begin) {
    return std::chrono::duration<double, std::milli>(clock_type::now() - begin).count();
}

} // namespace

TEST_CASE("zmq_transport runs a stock ipykernel", "[zmq][compat]") {
    auto const protocol = GENERATE(zmq_transport::socket_protocol::ipc, zmq_transport::socket_protocol::tcp);
    zmq_transport::options options;
    options.protocol = protocol;
    box b(options);
    auto const info = b.start();
    if (!info) FAIL(info.error().text());
    CHECK(info->implementation == "ipython");
    CHECK(info->language == "python");
    CHECK_FALSE(info->language_version.empty());

    CHECK(b.driver.execute("x = 20").status == "ok");
    auto const sum = b.driver.execute("import sys; print('out'); print('err', file=sys.stderr); x + 22");
    CHECK(sum.value == "42");
    CHECK(sum.out == "out\n");
    CHECK(sum.err == "err\n");

    auto const error = b.driver.execute("print('before'); 1/0");
    CHECK(error.status == "error");
    CHECK(error.ename == "ZeroDivisionError");
    CHECK(error.out == "before\n");
    for (auto const& line : error.traceback) CHECK(line.find('\x1b') == std::string::npos);
}

TEST_CASE("zmq_transport prepares a Python kernel without leaving names", "[zmq][compat]") {
    box b;
    REQUIRE(b.start());
    CHECK(b.driver.execute("[n for n in dir() if 'ipybox' in n]").value == "[]");
    CHECK(b.driver.execute("len(In)").value ==
          "3"); // '', the cell before and this one: the prelude is not in the history
    CHECK(
        b.driver.execute("import os; os.environ['TERM'], os.environ['NO_COLOR'], 'FORCE_COLOR' in os.environ").value ==
        "('dumb', '1', False)");

    // It ends when its first output is there, and not before.
    scratch_dir const dir;
    auto const go = dir.path() / "go";
    auto const id = b.driver.submit("import time; print('first')\nwhile not os.path.exists('" + go.string() +
                                    "'): time.sleep(0.01)");
    for (;;) {
        auto const m = b.driver.receive();
        REQUIRE(m);
        if (m->type == "stream") break;
    }
    (void)dir.write("go", "");
    CHECK(b.driver.finish(id).status == "ok");
}

TEST_CASE("zmq_transport restores the working directory when told to", "[zmq]") {
    box b;
    REQUIRE(b.start(false));
    CHECK(b.driver.execute("import os; os.chdir('/')").out == "[ipybox] cwd reset to " + b.dir.path().string() + "\n");
    CHECK(b.driver.execute("os.getcwd()").value == "'" + b.dir.path().string() + "'");
    CHECK(b.driver.execute("1").out.empty());
    CHECK(b.driver.execute("print('a', end=''); os.chdir('/')").out ==
          "a\n[ipybox] cwd reset to " + b.dir.path().string() + "\n");
    CHECK(b.driver.execute("os.chdir('/'); 1/0").out == "[ipybox] cwd reset to " + b.dir.path().string() + "\n");
}

TEST_CASE("zmq_transport keeps the working directory by default", "[zmq]") {
    box b;
    REQUIRE(b.start());
    CHECK(b.driver.execute("import os; os.chdir('/')").out.empty());
    CHECK(b.driver.execute("os.getcwd()").value == "'/'");
}

TEST_CASE("zmq_transport loses no output that nobody reads for a while", "[zmq]") {
    box b;
    REQUIRE(b.start());
    auto const id = b.driver.submit("for i in range(5000): print(i, flush=True)");
    std::this_thread::sleep_for(4s);
    auto const cell = b.driver.finish(id);
    std::string expected;
    for (int i = 0; i < 5000; ++i) expected += std::to_string(i) + "\n";
    CHECK(cell.out == expected);
}

TEST_CASE("zmq_transport carries large output", "[zmq]") {
    box b;
    REQUIRE(b.start());
    CHECK(b.driver.execute("print('x' * 10_000_000)").out.size() == 10'000'001);
}

TEST_CASE("zmq_transport answers input requests", "[zmq]") {
    box b;
    REQUIRE(b.start());
    auto const id = b.driver.submit("name = input('who? ')", true);
    for (;;) {
        auto const m = b.driver.receive();
        REQUIRE(m);
        if (m->type != "input_request") continue;
        CHECK(m->on == jupyter::message::channel::stdin_);
        CHECK(jupyter::message::field(m->content, "prompt") == "who? ");
        CHECK(m->parent_id == id);
        jupyter::message reply(jupyter::message::channel::stdin_, "input_reply", {{"value", "Ada"}, {"status", "ok"}});
        reply.parent_header = m->parent_header;
        REQUIRE(b.driver.send(std::move(reply)));
        break;
    }
    CHECK(b.driver.finish(id).status == "ok");
    CHECK(b.driver.execute("name").value == "'Ada'");
}

TEST_CASE("zmq_transport interrupts cells", "[zmq][compat]") {
    auto const code =
        GENERATE("import time; print('go', flush=True); time.sleep(60)", "print('go', flush=True)\nwhile True: pass",
                 "import asyncio; print('go', flush=True); await asyncio.sleep(60)",
                 "import subprocess; print('go', flush=True); subprocess.run(['sleep', '60'])");
    CAPTURE(code);
    box b;
    REQUIRE(b.start());
    auto const id = b.driver.submit(code);
    for (;;) {
        auto const m = b.driver.receive();
        REQUIRE(m);
        if (m->type == "stream") break;
    }
    std::this_thread::sleep_for(50ms); // so that the cell is inside of what blocks
    auto const begin = clock_type::now();
    REQUIRE(b.driver.interrupt());
    auto const cell = b.driver.finish(id);
    CHECK(ms_since(begin) < 20'000);
    CHECK(cell.status == "error");
    auto const stopped = cell.ename == "KeyboardInterrupt" || cell.ename == "CancelledError";
    CHECK(stopped);
    CHECK(b.driver.execute("'alive'").value == "'alive'");
}

TEST_CASE("zmq_transport: an interrupt of an idle kernel does no harm", "[zmq]") {
    box b;
    REQUIRE(b.start());
    for (int i = 0; i < 5; ++i) {
        REQUIRE(b.driver.interrupt());
        auto const cell = b.driver.execute("print('fine')");
        CHECK(cell.status == "ok");
        CHECK(cell.out == "fine\n");
    }
}

TEST_CASE("zmq_transport keeps the messages of its own requests to itself", "[zmq]") {
    box b;
    REQUIRE(b.start());
    REQUIRE(b.driver.interrupt()); // pokes
    auto const id = b.driver.submit("1");
    bool replied = false;
    bool idle = false;
    while (!replied || !idle) {
        auto const m = b.driver.receive();
        REQUIRE(m);
        CAPTURE(m->type);
        CHECK((m->parent_id == id || m->parent_id.empty()));
        replied = replied || m->type == "execute_reply";
        idle = idle || jupyter::message::field(m->content, "execution_state") == "idle";
    }
}

TEST_CASE("zmq_transport interrupts by message where the kernelspec says so", "[zmq]") {
    scratch_dir specs;
    specs.write("polite/kernel.json",
                R"({"argv": ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "language": "python",
                   "display_name": "polite", "interrupt_mode": "message"})");
    zmq_transport::options options;
    options.kernelspec = "polite";
    options.kernelspec_dirs = {specs.path()};
    box b(options);
    REQUIRE(b.start());
    auto const id = b.driver.submit("import asyncio; print('go', flush=True); await asyncio.sleep(60)");
    for (;;) {
        auto const m = b.driver.receive();
        REQUIRE(m);
        if (m->type == "stream") break;
    }
    // Two at once, and somebody who receives beside them.
    int answered = 0;
    auto const interrupt = [](zmq_transport& t, int& count) -> asio::awaitable<void> {
        auto const done = co_await t.interrupt();
        if (done) ++count;
    };
    for (int i = 0; i < 2; ++i)
        asio::co_spawn(b.driver.context(), interrupt(b.driver.transport(), answered), [](std::exception_ptr) {});
    CHECK(b.driver.finish(id).status == "error");
    CHECK(b.driver.execute("'alive'").value == "'alive'");
    CHECK(answered == 2);
}

TEST_CASE("zmq_transport reports how a kernel died, after all it said", "[zmq][compat]") {
    auto const protocol = GENERATE(zmq_transport::socket_protocol::ipc, zmq_transport::socket_protocol::tcp);
    zmq_transport::options options;
    options.protocol = protocol;
    box b(options);
    REQUIRE(b.start());
    auto const id = b.driver.submit(
        "import os, sys, time\nfor i in range(2000): print(i)\nsys.stdout.flush(); time.sleep(0.1)\nos._exit(7)");
    // Nobody looks before the kernel is gone and its connections are closed.
    bool const late = GENERATE(false, true);
    if (late) std::this_thread::sleep_for(1s);
    auto const cell = b.driver.finish(id);
    REQUIRE(cell.failed);
    CHECK(*cell.failed == errc::kernel_died);
    CHECK(cell.failed->status().code == 7);
    CHECK(cell.out.ends_with("\n1999\n"));

    CHECK(b.driver.receive().error() == errc::kernel_died);
    auto const next = b.driver.execute("1");
    REQUIRE(next.failed);
    CHECK(*next.failed == errc::kernel_died);

    REQUIRE(b.start());
    CHECK(b.driver.execute("6 * 7").value == "42");
}

TEST_CASE("zmq_transport sees a kernel killed at once", "[zmq]") {
    box b;
    REQUIRE(b.start());
    auto const pid = std::stoi(b.driver.execute("import os; os.getpid()").value);
    auto const begin = clock_type::now();
    ::kill(pid, SIGKILL);
    for (;;) {
        auto const m = b.driver.receive();
        if (m) continue;
        CHECK(m.error() == errc::kernel_died);
        CHECK(m.error().status().signal == SIGKILL);
        break;
    }
    CHECK(ms_since(begin) < 20'000);
}

TEST_CASE("zmq_transport does nothing while nothing happens, whether the kernel lives or not", "[zmq]") {
    box b;
    REQUIRE(b.start());
    REQUIRE(b.driver.execute("1").value == "1");
    // One receive waits, as in an executor.
    auto const wait = [](zmq_transport& t) -> asio::awaitable<void> {
        for (;;)
            if (auto const m = co_await t.receive(); !m) break;
    };
    asio::co_spawn(b.driver.context(), wait(b.driver.transport()), [](std::exception_ptr) {});
    b.driver.context().restart();
    b.driver.context().run_for(300ms);
    auto before = wake_ups();
    b.driver.context().run_for(3s);
    CHECK(wake_ups() - before < 10);

    box dead;
    REQUIRE(dead.start());
    REQUIRE(dead.driver.execute("import os; os._exit(1)").failed);
    before = wake_ups();
    dead.driver.context().restart();
    dead.driver.context().run_for(3s);
    CHECK(wake_ups() - before < 10);
}

TEST_CASE("zmq_transport stops a kernel, its children and its files", "[zmq]") {
    box b;
    REQUIRE(b.start());
    auto const pid = std::stoi(b.driver.execute("import os; os.getpid()").value);
    auto const child =
        std::stoi(b.driver.execute("import subprocess; p = subprocess.Popen(['sleep', '100']); p.pid").value);
    auto const dir = b.driver.owner()->private_dir();
    CHECK_FALSE(std::filesystem::is_empty(dir));
    for (auto const& entry : std::filesystem::directory_iterator(dir)) {
        struct stat info{};
        REQUIRE(::stat(entry.path().c_str(), &info) == 0);
        if (entry.path().extension() == ".json") CHECK((info.st_mode & 0777) == 0600);
    }
    auto const begin = clock_type::now();
    b.driver.stop();
    CHECK(ms_since(begin) < 20'000);
    CHECK(::kill(pid, 0) != 0);
    CHECK(::kill(child, 0) != 0);
    CHECK(std::filesystem::is_empty(dir));
    CHECK(b.driver.receive().error() == errc::not_running);
    b.driver.stop();
}

TEST_CASE("zmq_transport: stop ends a waiting receive", "[zmq]") {
    box b;
    REQUIRE(b.start());
    std::optional<result<jupyter::message>> got;
    auto const wait = [](zmq_transport& t, std::optional<result<jupyter::message>>& out) -> asio::awaitable<void> {
        for (;;) {
            auto m = co_await t.receive();
            if (m) continue;
            out.emplace(std::move(m));
            break;
        }
    };
    asio::co_spawn(b.driver.context(), wait(b.driver.transport(), got), [](std::exception_ptr) {});
    b.driver.stop();
    b.driver.context().restart();
    b.driver.context().run_for(100ms);
    REQUIRE(got);
    CHECK(got->error() == errc::not_running);
}

TEST_CASE("zmq_transport: a kernel ends with its transport", "[zmq]") {
    box b;
    REQUIRE(b.start());
    auto const pid = std::stoi(b.driver.execute("import os; os.getpid()").value);
    b.driver.transport() = zmq_transport();
    auto const deadline = clock_type::now() + 5s;
    while (::kill(pid, 0) == 0 && clock_type::now() < deadline) {
        b.driver.context().restart();
        b.driver.context().run_for(20ms);
    }
    CHECK(::kill(pid, 0) != 0);
    CHECK(std::filesystem::is_empty(b.driver.owner()->private_dir()));
}

TEST_CASE("zmq_transport can be stopped while it starts", "[zmq]") {
    auto const after = GENERATE(1ms, 30ms, 120ms, 200ms, 300ms);
    box b;
    std::optional<result<kernel_host::info>> started;
    auto const start = [](box& in, std::optional<result<kernel_host::info>>& out) -> asio::awaitable<void> {
        auto info = co_await in.driver.transport().start(in.driver.host(), in.launch());
        out.emplace(std::move(info));
    };
    asio::co_spawn(b.driver.context(), start(b, started), [](std::exception_ptr) {});
    b.driver.context().restart();
    b.driver.context().run_for(after);
    b.driver.stop();
    b.driver.context().restart();
    b.driver.context().run_for(1s);
    REQUIRE(started);
    if (!*started) CHECK(started->error() == errc::not_running);
    auto const is_clean = [&] { return std::filesystem::is_empty(b.driver.owner()->private_dir()); };
    for (int rounds = 0; !is_clean() && rounds < 300; ++rounds) {
        b.driver.context().restart();
        b.driver.context().run_for(100ms);
    }
    CHECK(is_clean());
    REQUIRE(b.start());
    CHECK(b.driver.execute("6 * 7").value == "42");
}

TEST_CASE("zmq_transport says why a kernel does not start", "[zmq]") {
    scratch_dir specs;
    auto const spec = [&](std::string const& name, std::string const& argv) {
        specs.write(name + "/kernel.json", R"({"display_name": "x", "language": "x", "argv": )" + argv + "}");
    };
    spec("ends", R"(["sh", "-c", "echo something is wrong >&2; exit 3"])");
    spec("missing", R"(["no-such-program-here"])");
    spec("silent", R"(["sleep", "100"])");
    spec("bare", R"(["sh", "-c", "echo \"$0: No module named ipykernel_launcher\" >&2; exit 1", "{connection_file}"])");
    zmq_transport::options options;
    options.kernelspec_dirs = {specs.path()};

    SECTION("it ends") {
        options.kernelspec = "ends";
        box b(options);
        auto const info = b.start();
        REQUIRE_FALSE(info);
        CHECK(info.error() == errc::kernel_start_failed);
        CHECK(info.error() == condition::cannot_start);
        CHECK(info.error().status().code == 3);
        CHECK(contains(info.error().text(), "something is wrong"));
        CHECK(std::filesystem::is_empty(b.driver.owner()->private_dir()));
    }
    SECTION("its program is missing") {
        options.kernelspec = "missing";
        box b(options);
        auto const info = b.start();
        REQUIRE_FALSE(info);
        CHECK(info.error() == errc::kernel_start_failed);
    }
    SECTION("it says nothing") {
        options.kernelspec = "silent";
        box b(options);
        auto const begin = clock_type::now();
        auto const info = b.start(true, 700ms);
        REQUIRE_FALSE(info);
        CHECK(info.error() == errc::kernel_unresponsive);
        CHECK(ms_since(begin) < 20'000);
    }
    SECTION("ipykernel is missing") {
        options.kernelspec = "bare";
        box b(options);
        auto const info = b.start();
        REQUIRE_FALSE(info);
        CHECK(info.error() == errc::ipykernel_missing);
        CHECK(contains(info.error().text(), "pip install ipykernel"));
    }
    SECTION("nobody knows it") {
        options.kernelspec = "fortran";
        box b(options);
        auto const info = b.start();
        REQUIRE_FALSE(info);
        CHECK(info.error() == errc::kernelspec_not_found);
        CHECK(contains(info.error().text(), "silent"));
    }
}

TEST_CASE("zmq_transport refuses TCP where the sandbox has a network of its own", "[zmq]") {
    if (std::system("unshare --user --map-root-user --net true 2>/dev/null") != 0) {
        test::skip("no user namespaces here");
        return;
    }
    zmq_transport::options options;
    options.protocol = zmq_transport::socket_protocol::tcp;
    scratch_dir dir;
    auto host = supervised_in(dir.path());
    host.wrap = [](launch_spec spec) {
        std::vector<std::string> argv = {"/usr/bin/unshare", "--user", "--map-root-user", "--net"};
        argv.insert(argv.end(), spec.argv.begin(), spec.argv.end());
        spec.argv = std::move(argv);
        return result<launch_spec>(std::move(spec));
    };
    kernel_host::launch launch;
    launch.env = kernel_env(dir.path());
    launch.working_dir = dir.path();
    {
        test::transport_driver<zmq_transport> driver(zmq_transport(options), host);
        auto const begin = clock_type::now();
        auto const info = driver.start(launch);
        REQUIRE_FALSE(info);
        CHECK(info.error() == errc::kernel_start_failed);
        CHECK(contains(info.error().text(), "network of its own"));
        CHECK(ms_since(begin) < 20'000);
    }
    options.protocol = zmq_transport::socket_protocol::ipc;
    test::transport_driver<zmq_transport> driver(zmq_transport(options), host);
    auto const info = driver.start(launch);
    if (!info) FAIL(info.error().text());
    CHECK(driver.execute("1 + 1").value == "2");
}

TEST_CASE("zmq_transport runs a kernel that is not Python", "[zmq][bash]") {
    scratch_dir specs;
    specs.write("bash/kernel.json", R"({"argv": [")" + test::python().string() +
                                        R"(", "-m", "bash_kernel", "-f", "{connection_file}"],
        "display_name": "Bash", "language": "bash", "env": {"PS1": "$"}})");
    zmq_transport::options options;
    options.kernelspec = "bash";
    options.kernelspec_dirs = {specs.path()};
    box b(options);
    auto const info = b.start();
    if (!info) FAIL(info.error().text());
    CHECK(info->language == "bash");
    CHECK(b.driver.execute("echo hello; x=5").out == "hello\n");
    CHECK(b.driver.execute("echo $((x + 1))").out == "6\n");
    auto const id = b.driver.submit("sleep 60");
    b.driver.context().restart();
    b.driver.context().run_for(300ms);
    REQUIRE(b.driver.interrupt());
    CHECK(b.driver.finish(id).failed == std::nullopt);
    CHECK(b.driver.execute("echo $x").out == "5\n");
}

TEST_CASE("zmq_transport attaches to a running kernel and leaves it running", "[zmq][compat]") {
    auto const protocol = GENERATE(zmq_transport::socket_protocol::ipc, zmq_transport::socket_protocol::tcp);
    scratch_dir dir;
    running_kernel kernel(dir.path(), protocol);
    zmq_transport::options options;
    options.connection_file = kernel.file;
    {
        box b(options);
        auto const info = kernel.attach(b);
        if (!info) FAIL(info.error().text());
        CHECK(info->language == "python");
        CHECK(b.driver.execute("x = 41").status == "ok");
        auto const id = b.driver.submit("import asyncio; print('go', flush=True); await asyncio.sleep(60)");
        for (;;) {
            auto const m = b.driver.receive();
            REQUIRE(m);
            if (m->type == "stream") break;
        }
        REQUIRE(b.driver.interrupt());
        CHECK(b.driver.finish(id).status == "error");
    }
    box again(options);
    REQUIRE(again.start());
    CHECK(again.driver.execute("x + 1").value == "42");
    CHECK(std::filesystem::exists(kernel.file));

    auto const begin = clock_type::now();
    kernel.process.signal(SIGKILL);
    for (;;) {
        auto const m = again.driver.receive();
        if (m) continue;
        CHECK(m.error() == errc::kernel_died);
        break;
    }
    CHECK(ms_since(begin) < 20'000);
    auto const before = wake_ups();
    again.driver.context().restart();
    again.driver.context().run_for(2s);
    CHECK(wake_ups() - before < 10);
}

TEST_CASE("an executor that is attached to a running kernel needs no interpreter and starts no process", "[zmq]") {
    scratch_dir dir;
    running_kernel kernel(dir.path(), zmq_transport::socket_protocol::ipc);
    zmq_transport::options attached;
    attached.connection_file = kernel.file;
    executor_options options;
    options.kernel.python = "/no/such/python";
    options.output.images_dir = dir.path() / "images";
    options.output.spill_dir = dir.path() / "spill";
    {
        box first(attached);
        REQUIRE(kernel.attach(first)); // it is there
    }
    basic_executor within{options, deny_approval(), refusing_sandbox(), zmq_transport(attached)};
    auto const r = within.execute("print(6 * 7)");
    if (!r) FAIL(r.error().text());
    CHECK(r->text == "42");
}

TEST_CASE("zmq_transport says at once that nobody listens", "[zmq]") {
    scratch_dir dir;
    jupyter::connection_info info;
    info.protocol = zmq_transport::socket_protocol::ipc;
    info.ip = (dir.path() / "nobody").string();
    info.shell_port = info.iopub_port = info.stdin_port = info.control_port = info.hb_port = 1;
    auto const file = dir.path() / "kernel.json";
    REQUIRE(jupyter::write_connection_file(file, info));
    zmq_transport::options options;
    options.connection_file = file;
    box b(options);
    auto const begin = clock_type::now();
    auto const started = b.start();
    REQUIRE_FALSE(started);
    CHECK(started.error() == errc::kernel_start_failed);
    CHECK(ms_since(begin) < 20'000);

    zmq_transport::options none;
    none.connection_file = dir.path() / "none.json";
    box c(none);
    CHECK(c.start().error() == errc::io_error);
}

TEST_CASE("zmq_transport refuses a kernel with another key", "[zmq]") {
    scratch_dir dir;
    running_kernel kernel(dir.path());
    auto info = jupyter::read_connection_file(kernel.file);
    REQUIRE(info);
    info->key = "another";
    auto const wrong = dir.path() / "wrong.json";
    REQUIRE(jupyter::write_connection_file(wrong, *info));
    zmq_transport::options right;
    right.connection_file = kernel.file;
    box first(right);
    REQUIRE(kernel.attach(first)); // it is up
    zmq_transport::options options;
    options.connection_file = wrong;
    box b(options);
    auto const started = b.start(true, 2s);
    REQUIRE_FALSE(started);
    // A kernel that welcomes its subscribers shows its signature; others just do not answer.
    auto const refused = started.error() == errc::protocol_error || started.error() == errc::kernel_unresponsive;
    CHECK(refused);
}
