#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/has_bubblewrap.hpp"
#include "support/kernel_box.hpp"
#include "support/scratch_dir.hpp"
#include "support/skip.hpp"

/** \file
 * Files that MCP servers are started from: what code can change of them, and who is told.
 */

namespace {

using namespace ipybox;
using namespace ipybox::test;
namespace fs = std::filesystem;

/// A server whose script lies in a directory that code may write to.
mcp::server_params server_of(fs::path const& script) {
    fs::create_directories(script.parent_path());
    std::ofstream(script) << "the server\n";
    mcp::server_params params{.command = python().string()};
    params.args = {script.string()};
    params.working_dir = "/";
    return params;
}

std::string attack_on(fs::path const& script) {
    return "try: open('" + script.string() + "', 'w').write('x'); print('changed')\n" +
           "except OSError as e: print(e.strerror)";
}

/// What is unprotected of one path, or none.
std::vector<executor::unprotected_file> about(executor_base const& box, fs::path const& path) {
    auto found = box.unprotected_files();
    std::erase_if(found, [&](auto const& file) { return file.path != path; });
    return found;
}

/// Options with a PATH of directories that are the code's, and of two that it cannot change.
executor_options with_path(scratch_dir const& dir, fs::path const& closed) {
    auto options = options_in(dir.path());
    fs::create_directories(options.working_dir / "bin");
    options.kernel.env["PATH"] = "node_modules/.bin:/run/user/1/bin:" + (options.working_dir / "bin").string() + ":" +
                                 (options.working_dir / ".venv/bin").string() + ":" + closed.string() + ":/usr/bin";
    return options;
}

/// PATH in the sandbox, without the directory of the interpreter.
std::string path_in(executor& box) {
    return text_of(box.execute("import os; print(os.environ['PATH'].split(':', 1)[1])"));
}

} // namespace

TEST_CASE("a name is that of no program that code has made: what it can change is not on its PATH", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir const dir;
    auto const closed = dir.path() / "work/tools/bin"; // as the environment of the kernel is, where it lies there
    fs::create_directories(closed);
    auto options = with_path(dir, closed);
    auto const whole = options.kernel.env["PATH"];
    options.sandbox.read_only = {dir.path() / "work/tools"};
    executor box(options, deny_approval{});
    CHECK(path_in(box) == closed.string() + ":/usr/bin");
    runtime const shared({.working_dir = options.working_dir,
                          .kernel = {.python = python()},
                          .sandbox = {.read_only = options.sandbox.read_only}});
    executor within_walls(options, deny_approval{}, shared);
    CHECK(path_in(within_walls) == closed.string() + ":/usr/bin");
    executor open(options, deny_approval{}, unsandboxed);
    CHECK(path_in(open) == whole);
}

TEST_CASE("landlock: what code can change is not on its PATH", "[kernel]") {
    scratch_dir const dir;
    if (auto const works = landlock_sandbox().wrap({{"/bin/true"}, {}, dir.path()}); !works)
        return skip(works.error().text());
    auto const closed = dir.path() / "tools"; // belongs to the user
    fs::create_directories(closed);
    executor box(with_path(dir, closed), deny_approval{}, landlock_sandbox());
    CHECK(path_in(box) == "/run/user/1/bin:" + closed.string() + ":/usr/bin"); // which it cannot make
}

TEST_CASE("a server that is registered while the kernel runs is told of, and protected in the next kernel",
          "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir const dir;
    executor box(options_in(dir.path()), deny_approval{});
    auto const script = dir.path() / "work/servers/pay.py";
    REQUIRE(box.start());
    REQUIRE(box.register_mcp_server("pay", server_of(script)));
    auto const open = about(box, script);
    REQUIRE(open.size() == 1);
    CHECK(open[0].server == "pay");
    CHECK(open[0].cure == executor::unprotected_file::protection::next_kernel);
    CHECK(open[0].text() ==
          "the code can change " + script.string() + ", which the MCP server pay is started from; reset() protects it");
    CHECK(text_of(box.execute(attack_on(script))) == "changed");
    REQUIRE(box.reset());
    CHECK(box.unprotected_files().empty());
    CHECK(text_of(box.execute(attack_on(script))) == "Read-only file system");

    // One that is replaced by another.
    auto const other = dir.path() / "work/others/pay.py";
    REQUIRE(box.replace_mcp_server("pay", server_of(other)));
    CHECK(about(box, script).empty());
    CHECK(about(box, other).size() == 1);
    REQUIRE(box.stop());
    REQUIRE(box.start());
    CHECK(text_of(box.execute(attack_on(other))) == "Read-only file system");
}

TEST_CASE("what a server is started from, and does not exist, is not made by code", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir const dir;
    auto const work = dir.path() / "work";
    executor box(options_in(dir.path()), deny_approval{});
    mcp::server_params server{.command = (work / "server.sh").string()};
    server.working_dir = "/";
    server.env_file = work / "server.env";
    server.env["PYTHONPATH"] = (work / "lib").string();
    auto const attack = "import os\n"
                        "for path in ('server.sh', 'lib/sitecustomize.py', 'server.env'):\n"
                        "    try:\n"
                        "        os.makedirs(os.path.dirname(path) or '.', exist_ok=True)\n"
                        "        with open(path, 'a') as file: file.write('PYTHONPATH=.')\n"
                        "    except OSError as e: print(path, e.strerror)\n";
    REQUIRE(box.register_mcp_server("pay", server));
    REQUIRE(box.start());
    CHECK(box.unprotected_files().empty());
    auto const refused =
        "server.sh Read-only file system\nlib/sitecustomize.py Read-only file system\nserver.env Permission denied";
    CHECK(text_of(box.execute(attack)) == refused);
    CHECK(fs::is_empty(work / "server.env"));
    REQUIRE(box.reset()); // with placeholders in place
    CHECK(text_of(box.execute(attack)) == refused);
    REQUIRE(box.stop());

    // One that was not known when the sandbox was made.
    REQUIRE(box.remove_mcp_server("pay"));
    REQUIRE(box.start());
    REQUIRE(box.register_mcp_server("pay", server));
    auto const open = about(box, work / "server.sh");
    REQUIRE(open.size() == 1);
    CHECK(open[0].cure == executor::unprotected_file::protection::next_kernel);
}

TEST_CASE("a kernel that has all protected keeps its supervisor", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir const dir;
    executor box(options_in(dir.path()), deny_approval{});
    REQUIRE(box.register_mcp_server("pay", server_of(dir.path() / "work/servers/pay.py")));
    // Its processes are counted in its own namespace, which lives as long as it does.
    auto const last_pid = "import os\npid = os.fork()\nif pid == 0: os._exit(0)\nprint(pid)";
    auto const before = std::stoi(text_of(box.execute(last_pid)));
    REQUIRE(box.reset());
    CHECK(std::stoi(text_of(box.execute(last_pid))) > before);
}

TEST_CASE("what no sandbox can protect is told before the kernel starts", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir const dir;
    auto options = options_in(dir.path());
    options.sandbox.read_only = {dir.path() / "work"};
    executor box(options, deny_approval{});
    REQUIRE(box.register_mcp_server("pay", server_of(dir.path() / "work/pay.py")));
    auto const open = about(box, dir.path() / "work");
    REQUIRE(open.size() == 2);
    CHECK(open[0].server.empty());
    CHECK(open[1].server == "pay");
    for (auto const& file : open) CHECK(file.cure == executor::unprotected_file::protection::other_directory);
    CHECK(about(box, dir.path() / "work/pay.py").empty());
    REQUIRE(box.start());
    CHECK(about(box, dir.path() / "work").size() == 2);
    CHECK(text_of(box.execute(attack_on(dir.path() / "work/pay.py"))) == "Read-only file system");
}

TEST_CASE("in a runtime, the executor that starts it has its servers protected, others are told", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir const dir;
    auto const options = options_in(dir.path());
    runtime const shared({.working_dir = options.working_dir, .kernel = {.python = python()}});
    executor first(options, deny_approval{}, shared);
    executor second(options, deny_approval{}, shared);
    auto const script = dir.path() / "work/servers/pay.py";
    REQUIRE(first.register_mcp_server("pay", server_of(script)));
    REQUIRE(first.start());
    CHECK(first.unprotected_files().empty());
    CHECK(text_of(second.execute(attack_on(script))) == "Read-only file system");

    auto const other = dir.path() / "work/others/pay.py";
    REQUIRE(second.register_mcp_server("pay", server_of(other)));
    auto const open = about(second, other);
    REQUIRE(open.size() == 1);
    CHECK(open[0].cure == executor::unprotected_file::protection::runtime_options);
    CHECK(open[0].text() ==
          "the code can change " + other.string() +
              ", which the MCP server pay is started from; name it in sandbox.read_only of the runtime, or in "
              "denyWrite of the sandbox's configuration");
    CHECK(first.unprotected_files().empty());
    REQUIRE(second.reset());
    CHECK(about(second, other).size() == 1);
    CHECK(text_of(second.execute(attack_on(other))) == "changed");
}

TEST_CASE("packages are not written through a link that the kernel has left, in the same session", "[kernel]") {
    kernel_box<> box;
    auto const work = box.options().working_dir;
    fs::create_directories(box.dir() / "outside");
    mcp::server_params params{.command = python().string()};
    params.args = {(fs::path(IPYBOX_TEST_SOURCE_DIR) / "tests/support/tool_server.py").string()};
    REQUIRE(box->register_mcp_server("tools", std::move(params)));
    REQUIRE(box.run("import os; os.symlink('../outside', 'mcptools')").empty());
    auto const made = box->generate_mcp_sources("tools", work / "mcptools");
    REQUIRE_FALSE(made);
    CHECK(made.error() == errc::io_error);
    CHECK_THAT(made.error().text(), Catch::Matchers::Contains("mcptools is a symbolic link"));
    CHECK(fs::is_empty(box.dir() / "outside"));
    REQUIRE(box.run("os.remove('mcptools')").empty());
    CHECK(box->generate_mcp_sources("tools", work / "mcptools"));
}
