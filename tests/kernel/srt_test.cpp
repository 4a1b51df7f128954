#include <ipybox/os/program_output.hpp>
#include <ipybox/sandbox/srt_preflight.hpp>
#include <ipybox/sandbox/srt_sandbox.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/kernel_box.hpp"
#include "support/skip.hpp"

/** \file
 * Kernels in srt_sandbox, with the real srt.
 */

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
namespace fs = std::filesystem;

/// Why there is no srt here, or nothing.
std::string missing_for_srt() {
    scratch_dir const dir;
    auto const wrapped = srt_sandbox().wrap({.argv = {"/bin/true"}, .env = {}, .working_dir = dir.path()});
    return wrapped ? std::string() : wrapped.error().text();
}

using srt_box = kernel_box<socketpair_transport, srt_sandbox>;

/// Python that prints the name of the error that code ends with, or "done".
std::string attempt(std::string const& code) {
    return "try: " + code + "; print('done')\nexcept Exception as e: print(type(e).__name__)";
}

} // namespace

TEST_CASE("srt: cells, output, errors and state", "[kernel]") {
    if (auto const why = missing_for_srt(); !why.empty()) return test::skip(why);
    srt_box box;
    CHECK(box.run("x = 20\nprint('größe')\nx + 1") == "größe\n21");
    CHECK(box.run("!echo $((6 * 7))") == "42");
    CHECK(box.run("import sys; print('e', file=sys.stderr)") == "e");
    CHECK(box->execute("1 / 0").error() == errc::python_error);
    CHECK(box.run("x") == "20");
    CHECK(box.run("print('y' * 3_000_000)").size() >= 3'000'000);
}

TEST_CASE("srt: a timeout interrupts code, and the kernel goes on", "[kernel]") {
    if (auto const why = missing_for_srt(); !why.empty()) return test::skip(why);
    srt_box box([](executor_options& options) { options.kernel.interrupt_grace = 10s; });
    CHECK(box.run("kept = 7") == "");
    for (auto const* code : {"while True: pass", "import time; time.sleep(60)", "!sleep 60"}) {
        INFO(code);
        CHECK(box->execute(code, {.timeout = 300ms}).error() == errc::timed_out);
        CHECK(box.run("kept") == "7");
    }
}

TEST_CASE("srt: kernels end, are reset and stopped, and nothing is left of them", "[kernel]") {
    if (auto const why = missing_for_srt(); !why.empty()) return test::skip(why);
    srt_box box;
    CHECK(box.run("open('made', 'w').close()") == "");
    auto const private_dir = fs::path(box.run("import tempfile; print(tempfile.gettempdir())")).parent_path();
    CHECK(private_dir.native().starts_with("/tmp/ipybox-srt-"));
    CHECK(box->execute("import os; os._exit(4)").error().status().code == 4);
    REQUIRE(box->reset());
    CHECK(box.run("'made' in __import__('os').listdir()") == "True");
    auto const work = box.options().working_dir;
    CHECK(fs::exists(work / ".bashrc"));
    REQUIRE(box->stop());
    box.drop();
    CHECK_FALSE(fs::exists(private_dir));
    std::vector<fs::path> left;
    for (auto const& entry : fs::directory_iterator(work)) left.push_back(entry.path().filename());
    CHECK(left == std::vector<fs::path>{"made"});
}

TEST_CASE("srt: code is kept in", "[kernel]") {
    if (auto const why = missing_for_srt(); !why.empty()) return test::skip(why);
    srt_box box([](executor_options& options) {
        std::ofstream(options.working_dir / ".env") << "secret";
        std::ofstream(options.working_dir / "rules.json") << "{}";
        std::ofstream(options.working_dir / "servers.json") << "secret";
        options.sandbox.read_only = {options.working_dir / "rules.json"};
        options.sandbox.hidden = {options.working_dir / "servers.json"};
    });
    auto const run = [&box](std::string const& code) { return box.run(attempt(code)); };
    CHECK(run("open('inside', 'w')") == "done");
    CHECK(run("import tempfile; tempfile.mkstemp()") == "done");
    for (auto const* closed : {"/tmp/ipybox-outside", "../outside", ".vscode/tasks.json", "rules.json"})
        CHECK(run("open('" + std::string(closed) + "', 'a')") == "OSError");
    for (auto const* placeholder : {".bashrc", ".envrc"})
        CHECK(run("open('" + std::string(placeholder) + "', 'a')") == "IsADirectoryError");
    CHECK(run("__import__('os').mkdir('.git/hooks')") == "OSError");
    for (auto const* secret : {".env", "servers.json"})
        CHECK(run("assert open('" + std::string(secret) + "').read() == 'secret'") != "done");
    CHECK(run("import socket; socket.socket(socket.AF_UNIX)") == "PermissionError");
    CHECK(run("import socket; socket.create_connection(('192.0.2.1', 80), 5)") == "OSError");
    CHECK(box.run("!mktemp -u | cut -d- -f1,2") == "/tmp/ipybox-srt");
}

TEST_CASE("srt: code signals neither the host nor what holds it", "[kernel]") {
    if (auto const why = missing_for_srt(); !why.empty()) return test::skip(why);
    srt_box box;
    CHECK(box.run("import glob, os\nseen = [open(f, 'rb').read() for f in glob.glob('/proc/[0-9]*/cmdline')]\n"
                  "print(len(seen) > 1, any(b'kernel_tests' in line for line in seen))") == "True False");
    CHECK(box.run(attempt("os.kill(os.getppid(), 9)")) == "PermissionError");
    (void)box.run(attempt("os.kill(1, 9)"));
    CHECK(box.run("1 + 1") == "2");
}

TEST_CASE("srt: commands are asked for, and code cannot go around that", "[kernel]") {
    if (auto const why = missing_for_srt(); !why.empty()) return test::skip(why);
    scratch_dir const dir;
    auto options = options_in(dir.path());
    options.approval.shell_cmds = true;
    options.approval.require_shell_escape = true;
    std::mutex mutex;
    std::vector<std::string> asked;
    auto const decide = [&](approval_request const& request) {
        std::scoped_lock const lock(mutex);
        asked.push_back(request.argv().at(2));
        return request.argv().at(2) == "echo no" ? decision::reject() : decision::accept();
    };
    executor box(options, decide, srt_sandbox());
    CHECK(text_of(box.execute("!echo yes")) == "yes");
    CHECK_FALSE(box.execute("!echo no"));
    CHECK(asked == std::vector<std::string>{"echo yes", "echo no"});
    CHECK(text_of(box.execute(attempt("__import__('subprocess').run(['true'])"))) == "PermissionError");
}

TEST_CASE("srt: it accepts what sandbox_config writes", "[kernel]") {
    if (auto const why = missing_for_srt(); !why.empty()) return test::skip(why);
    scratch_dir const dir;
    auto const config = sandbox_config::parse(R"({
      "network": {"allowedDomains": ["pypi.org", "*.pythonhosted.org:443"], "deniedDomains": ["*:25"],
                  "deniedDomainReasons": {"*:25": "no mail"}, "deniedResolvedAddresses": ["10.0.0.0/8", "fc00::/7"],
                  "strictAllowlist": true, "allowAllUnixSockets": true, "parentProxy": {"http": "http://proxy:3128"}},
      "filesystem": {"denyRead": [{"path": "a*b", "literal": true}, "**/.env"], "allowRead": ["~/x"],
                     "allowWrite": [".", "out/**"], "denyWrite": ["config"], "allowGitConfig": true},
      "credentials": {"envVars": [{"name": "KEY", "mode": "deny"}]},
      "allowNestedUserNamespaces": true, "mandatoryDenySearchDepth": 5})");
    REQUIRE(config);
    for (auto const& text : {sandbox_config().text(), config->text()}) {
        std::ofstream(dir.path() / "settings.json") << text;
        launch_spec spec{{detail::find_srt({}, *os::host_programs::now())->string(), "--settings",
                          (dir.path() / "settings.json").string(), "--", "echo", "it", "runs"},
                         {{"PATH", std::getenv("PATH")}, {"HOME", dir.path().string()}},
                         dir.path()};
        auto const said = os::program_output(spec, 30s);
        REQUIRE(said);
        CHECK(*said == "it runs\n");
    }
}

TEST_CASE("srt: foreign kernels and other transports", "[kernel]") {
    if (auto const why = missing_for_srt(); !why.empty()) return test::skip(why);
    kernel_box<zmq_transport, srt_sandbox> box;
    CHECK(box.run("6 * 7") == "42");
}
