#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/has_bubblewrap.hpp"
#include "support/holdings.hpp"
#include "support/walled_sessions.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;

struct sandbox_without_walls {
    [[nodiscard]] result<launch_spec> wrap(launch_spec spec) const { return result<launch_spec>(std::move(spec)); }
};

} // namespace

TEST_CASE("walls: each kernel of a runtime sees its own directory alone", "[kernel]") {
    if (!has_bubblewrap()) return;
    walled_sessions with;
    CHECK(with.run("a", "open('mine.txt', 'w').write('of a')") == "4");
    CHECK(with.run("b", "open('mine.txt', 'w').write('of b!')") == "5");
    CHECK(with.run("a", "open('mine.txt').read()") == "'of a'");
    CHECK(with.run("a", "import os; os.listdir('..')") == "['a']");
    CHECK(with.run("b", "!ls ..") == "b");
    CHECK(with.run("b", "import os; os.path.exists('../a/mine.txt')") == "False");
    CHECK_THAT(with.run("b", "open('../x', 'w')"), Contains("Read-only file system"));
    CHECK(read_file(with.dir().path() / "a/mine.txt") == "of a");
}

TEST_CASE("walls: temporary files, processes and the loopback are a kernel's own", "[kernel]") {
    if (!has_bubblewrap()) return;
    walled_sessions with;
    CHECK(with.run("a", "open('/tmp/x', 'w').write('a') + open('/dev/shm/x', 'w').write('a')") == "2");
    CHECK(with.run("b", "import os; [os.path.exists(f'{d}/x') for d in ('/tmp', '/dev/shm')]") == "[False, False]");
    CHECK(with.run("a", "import os; sorted(int(n) for n in os.listdir('/proc') if n.isdigit())") == "[1, 2]");
    CHECK(with.run("a", "import socket; s = socket.create_server(('127.0.0.1', 4711))") == "");
    CHECK_THAT(with.run("b", "import socket; socket.create_connection(('127.0.0.1', 4711), 5)"),
               Contains("Connection refused"));
}

TEST_CASE("walls: commands run within those of their kernel", "[kernel]") {
    if (!has_bubblewrap()) return;
    walled_sessions with;
    CHECK(with.run("a", "open('/tmp/of_a', 'w').write('kept')") == "4");
    CHECK(with.run("a", "!cat /tmp/of_a") == "kept");
    CHECK(with.run("b", "!cat /tmp/of_a; echo $?") != "kept");
    CHECK(with.run("a", "!mkdir /tmp/d") == "");
    CHECK_THAT(with.run("a", "%cd -q /tmp/d\n!pwd"), Contains("/tmp/d\n"));
    CHECK_THAT(with.run("a", "!no-such-program-here"), Contains("no-such-program-here: "));
    CHECK(with.run("a", "!id -u; grep CapEff /proc/self/status") ==
          std::to_string(::geteuid()) + "\nCapEff:\t0000000000000000");
    CHECK_THAT(with.run("a", "!unshare -U true"), Contains("Operation not permitted"));
    CHECK_THAT(with.run("a", "import os\nos.unshare(os.CLONE_NEWUSER) if hasattr(os, 'unshare') else "
                             "(_ for _ in ()).throw(OSError('Operation not permitted'))"),
               Contains("Operation not permitted"));
}

TEST_CASE("walls: a kernel that goes takes along what it has started, and nothing else", "[kernel]") {
    if (!has_bubblewrap()) return;
    walled_sessions with;
    CHECK(with.run("b", "x = 'stays'") == "");
    // The sandbox, the supervisor, the kernel, the first process of its room and that of the next one.
    CHECK(eventually([] { return descendants().size() == 5; }));
    auto const before = descendants().size();
    CHECK(with.run("a", "!sleep 600 & sleep 600 &") == "");
    CHECK(with.run("a", "import os\nif os.fork() == 0:\n    os.setsid()\n    import time; time.sleep(600)") == "");
    CHECK(descendants().size() >= before + 4);
    with.drop("a");
    CHECK(eventually([&] { return descendants().size() <= before; }));
    CHECK(with.run("b", "x") == "'stays'");
}

TEST_CASE("walls: a kernel that kills all that it can reaches no sibling", "[kernel]") {
    if (!has_bubblewrap()) return;
    walled_sessions with;
    CHECK(with.run("b", "x = 1") == "");
    (void)with.run("a", "import os, signal\nfor pid in range(1, 70000):\n    try: os.kill(pid, signal.SIGKILL)\n    "
                        "except OSError: pass");
    CHECK(with.run("b", "x") == "1");
    (void)with.run("a", "!kill -9 -1");
    CHECK(with.run("b", "x") == "1");
}

TEST_CASE("walls: a reset keeps the directory and empties the private ones", "[kernel]") {
    if (!has_bubblewrap()) return;
    walled_sessions with;
    CHECK(with.run("a", "open('kept', 'w').write('1') + open('/tmp/gone', 'w').write('1')") == "2");
    REQUIRE(with.on("a").reset());
    CHECK(with.run("a", "import os; os.path.exists('kept'), os.path.exists('/tmp/gone')") == "(True, False)");
    CHECK(with.run("a", "os.getcwd()") == "'" + (with.dir().path() / "a").string() + "'");
}

TEST_CASE("walls: the first process within them has no more than a command", "[kernel]") {
    if (!has_bubblewrap()) return;
    walled_sessions with;
    CHECK(with.run("b", "open('x', 'w').write('of b')") == "4");
    // The second one is in a room that was made before.
    for (auto const* name : {"a", "c"}) {
        CHECK(with.run(name, "!readlink /proc/1/cwd; cat /proc/1/cwd/b/x 2>&1") ==
              "/\ncat: /proc/1/cwd/b/x: No such file or directory");
        CHECK(with.run(name, "!ls -l /proc/1/fd | grep -c pipe:") == "0");
        CHECK(with.run(name, "!grep -h -E '^(Cap|Seccomp)' /proc/1/status /proc/self/status | sort | uniq -u") == "");
    }
}

TEST_CASE("walls: a kernel inherits no descriptor of the others", "[kernel]") {
    if (!has_bubblewrap()) return;
    walled_sessions with;
    CHECK(with.run("a", "1") == "1");
    CHECK(with.run("b", "2") == "2");
    CHECK(with.run("c", "import os\ndef link(n):\n    try: return os.readlink(f'/proc/self/fd/{n}')\n    except "
                        "OSError: return ''\n[link(n) for n in range(100) if 'pidfd' in link(n)]") == "[]");
}

TEST_CASE("walls: a kernel does not inherit what the supervisor was told of others", "[kernel]") {
    if (!has_bubblewrap()) return;
    walled_sessions with;
    with.options().kernel.env["TOKEN"] = "token-of-a-kernel";
    CHECK(with.run("name-of-a-session", "!echo $TOKEN word-of-a-command") == "token-of-a-kernel word-of-a-command");
    CHECK_THAT(with.run("name-of-a-session", "!no-such-word-of-a-command"), Contains("no-such-word-of-a-command: "));
    with.options().kernel.env.erase("TOKEN");
    CHECK(with.run("b", R"(
import re
found = set()
with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as memory:
    for line in maps:
        place, rights = line.split()[:2]
        begin, end = (int(number, 16) for number in place.split('-'))
        if rights[0] == 'r' and '[v' not in line:
            memory.seek(begin)
            found.update(re.findall(rb'token-[o]f-a|word-[o]f-a|name-[o]f-a', memory.read(end - begin)))
print(found))") == "set()");
}

TEST_CASE("walls: executors with the directory of the runtime share it, and nothing else", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir dir;
    runtime const shared({.working_dir = dir.path(), .kernel = {.python = python()}});
    executor_options options;
    options.working_dir = dir.path();
    executor a(options, deny_approval{}, shared), b(options, deny_approval{}, shared);
    CHECK(text_of(a.execute("open('x', 'w').write('1') + open('/tmp/x', 'w').write('1')")) == "2");
    CHECK(text_of(b.execute("import os; os.path.exists('x'), os.path.exists('/tmp/x')")) == "(True, False)");
}

TEST_CASE("walls: an executor that works outside of the runtime's directory sees nothing of it", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir outside;
    auto config =
        sandbox_config::parse(R"({"filesystem": {"allowWrite": [".", ")" + outside.path().string() + R"("]}})");
    REQUIRE(config);
    walled_sessions with({}, bubblewrap_sandbox(*config));
    CHECK(with.run("a", "open('mine.txt', 'w').write('of a')") == "4");
    with.options().working_dir = outside.path();
    CHECK(with.run("b", "import os; os.getcwd(), os.listdir('" + with.dir().path().string() + "')") ==
          "('" + outside.path().string() + "', [])");
}

TEST_CASE("walls: what the configuration opens is open to all kernels", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir open;
    auto config = sandbox_config::parse(R"({"filesystem": {"allowWrite": [".", ")" + open.path().string() + R"("]}})");
    REQUIRE(config);
    walled_sessions with({}, bubblewrap_sandbox(*config));
    auto const file = "'" + (open.path() / "x").string() + "'";
    CHECK(with.run("a", "open(" + file + ", 'w').write('from a')") == "6");
    CHECK(with.run("b", "open(" + file + ").read()") == "'from a'");
}

TEST_CASE("walls: without them, kernels share files, processes and the loopback", "[kernel]") {
    if (!has_bubblewrap()) return;
    walled_sessions with({.walls = false});
    CHECK(with.run("a", "open('mine.txt', 'w').write('of a')") == "4");
    CHECK(with.run("b", "open('../a/mine.txt').read()") == "'of a'");
}

TEST_CASE("walls: a guarded kernel within them is guarded", "[kernel]") {
    if (!has_bubblewrap()) return;
    walled_sessions with;
    with.options().approval.require_shell_escape = true;
    CHECK_THAT(with.run("a", "import subprocess; subprocess.run(['true'])"), Contains("Start them with !"));
    CHECK(with.run("a", "!echo done") == "done");
    CHECK(with.run("b", "import os; os.listdir('..')") == "['b']");
}

TEST_CASE("walls: a sandbox that has none says so", "[kernel]") {
    walled_sessions with({}, sandbox_without_walls{});
    auto const started = with.on("a").start();
    REQUIRE_FALSE(started);
    CHECK(started.error() == errc::sandbox_unavailable);
    CHECK_THAT(started.error().text(),
               Contains("does not keep the kernels of a runtime apart") && Contains("do without walls between them"));
}

TEST_CASE("walls: each kernel has the limit of processes for itself", "[kernel]") {
    if (!has_bubblewrap() || ::geteuid() == 0) return;
    runtime::options options;
    options.sandbox.limits.processes = 40;
    walled_sessions with(options);
    CHECK_THAT(with.run("a", "import subprocess\nall = [subprocess.Popen(['sleep', '60']) for _ in range(60)]"),
               Contains("Resource temporarily unavailable"));
    CHECK(with.run("b", "import subprocess\nlen([subprocess.Popen(['sleep', '60']) for _ in range(20)])") == "20");
}
