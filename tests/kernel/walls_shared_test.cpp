#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/has_bubblewrap.hpp"
#include "support/loopback_server.hpp"
#include "support/skip.hpp"
#include "support/walled_sessions.hpp"

/** \file
 * What executors on a runtime with walls share, and what each has for itself: packages, devices, what the sandbox
 * opens, limits, hosts.
 */

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;

/// A layer without an index, and a directory with the wheels of tests/support/write_wheels.py.
class small_packages {
  public:
    small_packages() {
        launch_spec spec;
        auto const wheels = dir_.path() / "wheels";
        spec.argv = {python().string(), (source_dir() / "tests/support/write_wheels.py").string(), wheels.string()};
        spec.working_dir = dir_.path();
        REQUIRE(os::program_output(spec, 60s));
        options_.index = "";
        options_.wheels = {wheels};
    }
    [[nodiscard]] std::shared_ptr<package_layer const> layer(std::filesystem::path const& directory = {}) const {
        auto options = options_;
        options.directory = directory;
        return package_layer::make(options).value();
    }
    [[nodiscard]] std::filesystem::path const& dir() const { return dir_.path(); }

  private:
    scratch_dir dir_;
    package_layer::options options_;
};

/// A device of this machine that is among no sandbox's own. Opening it does nothing.
std::string device_of_machine() {
    for (auto const* path : {"/dev/fuse", "/dev/loop-control", "/dev/net/tun", "/dev/kmsg"})
        if (os::unique_fd(::open(path, O_RDONLY | O_CLOEXEC))) return path;
    return "";
}

std::string opened(std::string const& device) {
    return "import os\ntry: print(os.open('" + device + "', os.O_RDONLY) > 0)\nexcept OSError as e: print(e.strerror)";
}

/// Code that looks for a file of a sibling by all ways that namespaces of its own open.
std::string uncovering(std::filesystem::path const& secret) {
    return "import ctypes, os\n"
           "libc = ctypes.CDLL(None, use_errno=True)\n"
           "user, group = os.getuid(), os.getgid()\n"
           "made = libc.unshare(0x10020000) == 0\n"
           "for name, text in ('setgroups', 'deny'), ('uid_map', f'0 {user} 1'), ('gid_map', f'0 {group} 1'):\n"
           "    try: open('/proc/self/' + name, 'w').write(text)\n"
           "    except OSError: pass\n"
           "places = [line.split()[4] for line in open('/proc/self/mountinfo')]\n"
           "for place in reversed(places): libc.umount2(place.encode(), 2)\n"
           "libc.mount(b'/', b'/tmp', None, 4096, None)\n"
           "seen = [base for base in ('', '/tmp', '/proc/1/root') if os.path.exists(base + '" +
           secret.string() + "')]\nprint(made, seen)";
}

sandbox_config to_this_machine(std::string_view network) {
    auto config = sandbox_config::parse("{\"network\": " + std::string(network) + "}").value();
    config.network.allowed_addresses.push_back(sandbox_config::address_range::parse("127.0.0.1").value());
    config.network.resolve = [](std::string const&) -> result<std::vector<asio::ip::address>> {
        return std::vector<asio::ip::address>{asio::ip::make_address("127.0.0.1")};
    };
    return config;
}

constexpr char const* eats_memory = "kept = []\nwhile len(kept) < 1000: kept.append(b'1' * (1 << 20))\n"
                                    "import time; time.sleep(1000)";

} // namespace

TEST_CASE("walls: what one session installs, the others import", "[kernel]") {
    if (!has_bubblewrap()) return;
    small_packages const packages;
    scratch_dir const work;
    // A private layer lies below /tmp, of which each kernel has its own; the other ones in the runtime's directory and
    // beside it.
    for (auto const& place : {std::filesystem::path(), work.path() / "layer", packages.dir() / "layer"}) {
        INFO(place);
        auto const layer = packages.layer(place);
        walled_sessions with({.working_dir = work.path(), .kernel = {.packages = layer}});
        CHECK(with.run("b", "try: import ipybox_tiny\nexcept ImportError: print('missing')") == "missing");
        auto const installed = with.on("a").install_package("ipybox_needs");
        REQUIRE(installed);
        CHECK(with.run("b", "import ipybox_tiny; ipybox_tiny.version") == "'1.0'");
        CHECK_THAT(with.run("b", "%pip install ipybox_more"), Contains("Successfully installed ipybox_more-1.0"));
        CHECK(with.run("a", "import ipybox_shared.needs, ipybox_shared.more") == "");
        CHECK(with.run("c", "import ipybox_shared.more, ipybox_tiny; ipybox_tiny.version") == "'1.0'");
        CHECK(with.run("c", "!python -c 'import sys; sys.path.append(\"" + layer->path().string() +
                                "\"); import ipybox_tiny; print(ipybox_tiny.version)'") == "1.0");
        CHECK_THAT(with.run("c", "open('" + layer->path().string() + "/x.py', 'w')"),
                   Contains("Read-only file system"));
        CHECK_THAT(with.run("c", "!rm -r " + layer->path().string() + "/ipybox_tiny.py"),
                   Contains("Read-only file system"));
        CHECK(with.run("c", "import os; sorted(os.listdir('..'))") ==
              (place == work.path() / "layer" ? "['c', 'layer']" : "['c']"));
    }
}

TEST_CASE("walls: an executor of a runtime that asks for packages of its own is refused by name", "[kernel]") {
    if (!has_bubblewrap()) return;
    small_packages const packages;
    auto const layer = packages.layer();
    walled_sessions with({.kernel = {.packages = layer}});
    with.options().kernel.packages = layer;
    CHECK(with.run("a", "1") == "1");
    with.options().kernel.packages = packages.layer();
    auto const started = with.on("b").start();
    REQUIRE_FALSE(started);
    CHECK(started.error() == errc::invalid_argument);
    CHECK_THAT(started.error().text(),
               Contains("kernel.packages of the executor is not what the executor's runtime has"));
    CHECK(with.run("a", "1") == "1");
    walled_sessions none;
    none.options().kernel.packages = layer;
    CHECK_THAT(none.run("a", "1"), Contains("kernel.packages of the executor is not what the executor's runtime has"));
}

TEST_CASE("walls: an executor that names no directory works in that of its runtime", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir const dir;
    for (bool const walls : {true, false}) {
        CAPTURE(walls);
        runtime const shared({.working_dir = dir.path(), .kernel = {.python = python()}, .walls = walls});
        executor box({}, deny_approval{}, shared);
        CHECK(text_of(box.execute("import os\nopen('written', 'w').close()\nos.getcwd()")) ==
              "'" + dir.path().string() + "'");
    }
}

TEST_CASE("walls: devices of the configuration are open to each kernel", "[kernel]") {
    if (!has_bubblewrap()) return;
    auto const device = device_of_machine();
    if (device.empty()) return skip("this machine has no device that can be opened");
    sandbox_config config;
    config.devices = {device};
    walled_sessions with({}, bubblewrap_sandbox(config));
    walled_sessions without;
    for (auto const* name : {"a", "b"}) {
        CHECK(with.run(name, opened(device)) == "True");
        CHECK(with.run(name, "!exec 3< " + device + " && echo opened") == "opened");
        CHECK(without.run(name, opened(device)) == "No such file or directory");
    }
    struct ::stat about{};
    REQUIRE(::stat(device.c_str(), &about) == 0);
    auto const number = std::to_string(major(about.st_rdev)) + ":" + std::to_string(minor(about.st_rdev));
    CHECK(with.run("a", "'MAJOR=' in open('/sys/dev/char/" + number + "/uevent').read()") == "True");
    CHECK_THAT(with.run("a", "!mknod x c 1 3"), Contains("Operation not permitted"));
}

TEST_CASE("walls: what the runtime's sandbox opens is open to each kernel, and leads to no sibling", "[kernel]") {
    if (!has_bubblewrap()) return;
    walled_sessions with(
        {.sandbox = {.allow = {system_access::unix_sockets, system_access::user_namespaces, system_access::ptrace,
                               system_access::io_uring, system_access::perf_events}}});
    CHECK(with.run("a", "open('mine.txt', 'w').write('of a')") == "4");
    CHECK(with.run("a", "import socket\ns = socket.socket(socket.AF_UNIX); s.bind('\\0of-a'); s.listen()") == "");
    CHECK_THAT(with.run("b", "import socket\nsocket.socket(socket.AF_UNIX).connect('\\0of-a')"),
               Contains("Connection refused"));
    auto const secret = with.dir().path() / "a/mine.txt";
    auto const code = uncovering(secret);
    CHECK(with.run("b", "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', '''" + code +
                            "'''], capture_output=True, text=True).stdout.strip())") == "True []");
    with.dir().write("b/look.py", code);
    CHECK(with.run("b", "!python look.py") == "True []");
    CHECK(with.run("a", "open('mine.txt').read()") == "'of a'");
    CHECK(with.run("b", "import os; sorted(int(n) for n in os.listdir('/proc') if n.isdigit())[:2]") == "[1, 2]");
}

TEST_CASE("walls: what an executor alone wants to have opened stays closed", "[kernel]") {
    if (!has_bubblewrap()) return;
    walled_sessions with;
    with.options().sandbox.allow = {system_access::unix_sockets};
    auto const code = "import socket\nsocket.socket(socket.AF_UNIX)";
    CHECK_THAT(with.run("a", code), Contains("Operation not permitted"));
    with.options().approval.require_shell_escape = true;
    CHECK_THAT(with.run("b", code), Contains("Operation not permitted"));
}

TEST_CASE("walls: what a kernel has started anywhere within them counts for it alone, and ends with it", "[kernel]") {
    if (!has_bubblewrap()) return;
    runtime::options options;
    options.sandbox.limits.kernel_memory = 400 << 20;
    walled_sessions with(options);
    CHECK(with.run("b", "kept = 1\nimport subprocess\nbeside = subprocess.Popen(['sleep', '600'])") == "");
    with.dir().write("a/eats.py", eats_memory);
    auto const set_apart =
        "import subprocess, sys, time\n"
        "subprocess.run([sys.executable, '-c', 'import os, sys\\nif os.fork(): os._exit(0)\\nos.setsid()"
        "\\nif os.fork(): os._exit(0)\\nexec(open(\"eats.py\").read())'])\ntime.sleep(60)";
    for (auto const* code : {"!python eats.py", "!(setsid python eats.py &) ; sleep 60", set_apart}) {
        INFO(code);
        execute_options const bounded{.timeout = 60s};
        auto const ended = with.on("a").execute(code, bounded);
        REQUIRE_FALSE(ended);
        CHECK(ended.error() == errc::kernel_died);
        CHECK(ended.error().status().signal == SIGKILL);
        REQUIRE(ended.error().status().exceeded);
        CHECK(ended.error().status().exceeded->which == exit_status::exceeded_limit::kind::memory);
        CHECK(with.run("b", "kept, beside.poll()") == "(1, None)");
        REQUIRE(with.on("a").reset());
        CHECK(with.run("a", "!pgrep -c python") == "1");
    }
}

TEST_CASE("walls: processes of one kernel do not count for another one's limit", "[kernel]") {
    if (!has_bubblewrap()) return;
    runtime::options options;
    options.sandbox.limits.processes = 60;
    walled_sessions with(options);
    auto const some = "import subprocess, time\n"
                      "all = [subprocess.Popen(['sleep', '600']) for _ in range(30)]\ntime.sleep(1)\nlen(all)";
    for (auto const* name : {"a", "b", "c"}) CHECK(with.run(name, some) == "30");
    CHECK(with.run("a", "import os; os.getpid()") == "2");
}

TEST_CASE("walls: each kernel reaches hosts by a proxy of its own, and is asked about by itself", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir const dir;
    loopback_server const web(answer_with_head);
    runtime const shared({.working_dir = dir.path(), .kernel = {.python = python()}},
                         bubblewrap_sandbox(to_this_machine(R"({"allowedDomains": ["allowed.test"]})")));
    auto const box_of = [&](std::string const& name, any_approval approval) {
        executor_options options;
        options.working_dir = dir.path() / name;
        std::filesystem::create_directories(options.working_dir);
        return executor(options, std::move(approval), shared);
    };
    std::vector<std::string> asked;
    auto const grants = [&asked](approval_request const& request) {
        asked.push_back(request.subject()->host);
        request.accept_and_grant(grant::this_host(*request.subject()));
    };
    auto a = box_of("a", callback_approval(grants)), b = box_of("b", deny_approval{});
    auto const get = [&web](executor& box, std::string const& host) {
        return text_of(box.execute("import os, urllib.request, urllib.error\n"
                                   "try: print(urllib.request.urlopen('http://" +
                                   host + ":" + std::to_string(web.port()) +
                                   "/', timeout=60).status)\n"
                                   "except urllib.error.HTTPError as e: print(e.code)"));
    };
    CHECK(get(a, "allowed.test") == "200");
    CHECK(get(b, "allowed.test") == "200");
    CHECK(get(a, "other.test") == "200");
    CHECK(get(b, "other.test") == "403"); // what a has been granted is a's
    CHECK(get(a, "other.test") == "200");
    CHECK(asked == std::vector<std::string>{"other.test"});
    // The proxies may have the same port, each on a loopback of its own.
    auto const port = text_of(a.execute("os.environ['HTTP_PROXY'].rpartition(':')[2].rstrip('/')"));
    auto const theirs = text_of(b.execute("os.environ['HTTP_PROXY'].rpartition(':')[2].rstrip('/')"));
    if (port != theirs)
        CHECK_THAT(text_of(b.execute("import socket; socket.create_connection(('127.0.0.1', int(" + port + ")), 5)")),
                   Contains("Connection refused"));
    REQUIRE(b.reset());
    CHECK(get(b, "allowed.test") == "200");
    CHECK(get(a, "other.test") == "200");
}
