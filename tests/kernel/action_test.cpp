// Tools and programs that cells ask for, with real kernels, a real supervisor and a real MCP server.

#include <ipybox/codegen.hpp>
#include <ipybox/gate/audit_log.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/rules/grant.hpp>

#include <nlohmann/json.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// Remembers what it was asked, and decides as it is told.
struct witness {
    std::mutex mutex;
    std::vector<approval_request> asked;
    std::function<void(approval_request const&)> decide = [](approval_request const& r) { r.accept(); };

    auto policy() {
        return [this](approval_request request) {
            std::scoped_lock const lock(mutex);
            asked.push_back(request);
            decide(request);
        };
    }
};

/// An MCP server of the standard library alone: `echo` returns its text, `sleep` takes its time, `fail` fails, `server`
/// tells its pid and what was cancelled.
mcp::server_params tool_server() {
    mcp::server_params params;
    params.command = python().string();
    params.args = {(std::filesystem::path(IPYBOX_TEST_SOURCE_DIR) / "tests/support/tool_server.py").string()};
    return params;
}

executor_options asking(std::filesystem::path const& dir,
                        std::chrono::milliseconds longest_pause = std::chrono::hours(1)) {
    auto options = options_in(dir);
    options.approval.longest_pause = longest_pause;
    options.working_dir = dir;
    options.approval.shell_cmds = true;
    return options;
}

/// An executor with the tools of `tool_server`.
struct tool_box {
    tool_box() : tool_box(std::chrono::hours(1)) {}

    explicit tool_box(std::chrono::milliseconds longest_pause)
        : box(asking(dir.path(), longest_pause), seen.policy(), unsandboxed) {
        REQUIRE(box.register_mcp_server("tools", tool_server()));
        auto const made = box.generate_mcp_sources("tools", dir.path() / "mcptools");
        REQUIRE(made);
        REQUIRE(made->modules == std::vector<std::string>{"echo", "sleep", "fail", "picture", "chart", "server"});
        REQUIRE(box.execute(imports));
    }

    /// What the server says of itself.
    nlohmann::json server() { return nlohmann::json::parse(text_of(box.execute("print(server.run())"))); }

    static constexpr auto imports = "from mcptools.tools import echo, sleep, fail, picture, chart, server";

    scratch_dir dir;
    witness seen;
    executor box;
};

/// How many processes have this command line.
std::size_t processes_of(std::string command) {
    std::replace(command.begin(), command.end(), ' ', '\0');
    command += '\0';
    std::error_code gone;
    std::size_t found = 0;
    for (auto const& process : std::filesystem::directory_iterator("/proc", gone))
        found += read_file(process.path() / "cmdline") == command ? 1 : 0;
    return found;
}

} // namespace

TEST_CASE("tools: a call is asked for, decided, done, and its result is typed", "[kernel]") {
    tool_box on;
    CHECK(text_of(on.box.execute("echo.run(echo.Params(text='hi'))")) == "'hi'");
    REQUIRE(on.seen.asked.size() == 1);
    auto const& request = on.seen.asked[0];
    CHECK(request.kind() == approval_subject::action::tool);
    CHECK(request.server() == "tools");
    CHECK(request.tool() == "echo");
    CHECK(request.arguments() == nlohmann::ordered_json{{"text", "hi"}});
    CHECK(request.code() == "echo.run(echo.Params(text='hi'))");
}

TEST_CASE("tools: a question comes behind what was printed before it", "[kernel]") {
    scratch_dir dir;
    executor box(asking(dir.path()), {}, unsandboxed);
    // So much is still being read when the question is there, which takes another way.
    auto events = box.stream("for i in range(10):\n    print('x' * 500_000, f'why {i}?')\n    !true");
    std::string printed;
    int questions = 0;
    while (auto event = events.next()) {
        if (auto const* chunk = std::get_if<output_chunk>(&*event)) printed += chunk->text;
        if (auto const* end = std::get_if<result<execution_result>>(&*event)) CHECK(*end);
        if (auto const* request = std::get_if<approval_request>(&*event)) {
            CHECK(printed.ends_with("why " + std::to_string(questions++) + "?\n"));
            request->accept();
        }
    }
    CHECK(questions == 10);
}

TEST_CASE("tools: the code learns who rejected its action", "[kernel]") {
    scratch_dir dir;
    auto options = asking(dir.path());
    options.approval.calls_per_cell = 2;
    options.approval.rules = approval_rules::parse(R"({"deny":[{"argv":["rm","**"]}]})").value();
    auto const code = "for line in ('rm x', 'ls', 'true'):\n"
                      "    try: get_ipython().system(line)\n"
                      "    except PermissionError as e: print(e.decided_by)\n";
    executor decided(options, deny_approval{}, unsandboxed);
    CHECK(text_of(decided.execute(code)) == "rule\npolicy\nbudget");
    executor undecided(options, {}, unsandboxed);
    CHECK(text_of(undecided.execute(code)) == "rule\nno_policy\nbudget");
}

TEST_CASE("approvals: one execution may have a policy of its own", "[kernel]") {
    scratch_dir dir;
    auto options = asking(dir.path());
    options.approval.rules = approval_rules::parse(R"({"deny":[{"argv":["rm","**"]}]})").value();
    executor box(options, {}, unsandboxed);
    auto const code = "try:\n    !echo done\n"
                      "except PermissionError as e: print(e.decided_by)";
    CHECK(text_of(box.execute(code)) == "no_policy");
    CHECK(text_of(box.execute(code, {.approval = auto_approval{}})) == "done");
    CHECK(text_of(box.execute(code)) == "no_policy"); // of one execution alone
    CHECK(text_of(box.execute(code, {.approval = [](approval_request const& r) { r.reject("no"); }})) == "policy");
    CHECK(text_of(box.execute("try:\n    !rm x\nexcept PermissionError as e: print(e.decided_by)",
                              {.approval = auto_approval{}})) == "rule"); // the executor's rules hold

    auto accepted = box.submit(code, {.approval = auto_approval{}});
    REQUIRE(accepted.wait(30s));
    CHECK(text_of(accepted.result()) == "done");
}

TEST_CASE("approvals: the reader of a stream is asked, or not, as the stream says", "[kernel]") {
    scratch_dir dir;
    executor box(asking(dir.path()), auto_approval{}, unsandboxed);
    auto const read = [&](execute_options options) {
        auto events = box.stream("try:\n    !echo done\nexcept PermissionError as e: print(e.decided_by)", options);
        std::string text;
        int questions = 0;
        while (auto event = events.next()) {
            if (auto const* request = std::get_if<approval_request>(&*event)) {
                ++questions;
                request->reject("not now");
            }
            if (auto const* end = std::get_if<result<execution_result>>(&*event)) text = text_of(*end);
        }
        return text + ", " + std::to_string(questions);
    };
    CHECK(read({}) == "done, 0");
    CHECK(read({.approval = stream_reader_approval{}}) == "policy, 1");
    CHECK(read({.approval = deny_approval{}}) == "policy, 0");
}

TEST_CASE("approvals: code may ask again where the options say so", "[kernel]") {
    scratch_dir dir;
    auto const asked_for = [&](decision::when_repeated again) {
        auto options = asking(dir.path());
        options.approval.repeated = again;
        int asked = 0;
        executor box(
            options,
            [&asked](approval_request const& r) {
                ++asked;
                r.reject("no");
            },
            unsandboxed);
        CHECK(text_of(box.execute("for i in range(3):\n    try: get_ipython().system('true')\n"
                                  "    except PermissionError: pass")) == "");
        return asked;
    };
    CHECK(asked_for(decision::when_repeated::reject) == 1);
    CHECK(asked_for(decision::when_repeated::ask) == 3);
}

TEST_CASE("tools: a name that the server does not list does not reach it", "[kernel]") {
    tool_box on;
    auto const call = [&](std::string tool) {
        return text_of(on.box.execute("from ipybox_kernel.actions import channel\n"
                                      "try: print(bytes(channel().call('call', {'server': 'tools', 'tool': '" +
                                      tool +
                                      "'}, b'{\"text\":\"x\"}').body).decode())\nexcept Exception as e: print(e)"));
    };
    CHECK(call("echo") == "x");
    CHECK(call("ech") == "the MCP server 'tools' lists no tool \"ech\"");
    CHECK(call("echo ") == "the MCP server 'tools' lists no tool \"echo \"");
}

TEST_CASE("tools: rejected, edited, failing", "[kernel]") {
    tool_box on;
    on.seen.decide = [](approval_request const& r) { r.reject("not now"); };
    auto const rejected = on.box.execute("echo.run(echo.Params(text='hi'))");
    REQUIRE_FALSE(rejected);
    CHECK(rejected.error().exception()->ename == "ApprovalRejectedError");
    CHECK(rejected.error().exception()->evalue.find("not now") != std::string::npos);

    on.seen.decide = [](approval_request const& r) { r.accept(nlohmann::json{{"text", "edited"}}); };
    CHECK(text_of(on.box.execute("echo.run(echo.Params(text='hi'))")) == "'edited'");

    on.seen.decide = [](approval_request const& r) { r.accept(); };
    auto const failed = on.box.execute("fail.run(fail.Params())");
    REQUIRE_FALSE(failed);
    CHECK(failed.error().exception()->ename == "ToolRunnerError");
    CHECK(failed.error().exception()->evalue.find("it had to") != std::string::npos);
}

TEST_CASE("Q12 tools: a picture arrives and shows itself", "[kernel]") {
    tool_box on;
    auto const shown = on.box.execute("picture.run(picture.Params())");
    REQUIRE(shown);
    CHECK(shown->images.size() == 1);
}

TEST_CASE("Q12 tools: a typed result has the picture that came with it, and shows it", "[kernel]") {
    tool_box on;
    auto const shown = on.box.execute("made = chart.run()\nmade");
    REQUIRE(shown);
    CHECK(shown->images.size() == 1);
    CHECK(text_of(on.box.execute("isinstance(made, chart.Result), made.points, made.to_arguments()")) ==
          "(True, 3, {'points': 3})");
    CHECK(text_of(on.box.execute("made.parts[0].mime, made.parts[0].data[:4]")) == R"(('image/png', b'\x89PNG'))");
    CHECK(text_of(on.box.execute("link = made.parts[1]; link.uri, link.name, link.mime")) ==
          "('file:///points.csv', 'points', 'text/csv')");
}

TEST_CASE("W4 W20 tools: without a policy nothing is accepted", "[kernel]") {
    scratch_dir dir;
    executor box{asking(dir.path()), {}, unsandboxed};
    REQUIRE(box.register_mcp_server("tools", tool_server()));
    REQUIRE(box.generate_mcp_sources("tools", dir.path() / "mcptools"));
    auto const rejected = box.execute("from mcptools.tools import echo\necho.run(echo.Params(text='hi'))");
    REQUIRE_FALSE(rejected);
    CHECK(rejected.error().exception()->ename == "ApprovalRejectedError");
}

TEST_CASE("tools: a stream's reader decides where there is no policy", "[kernel]") {
    scratch_dir dir;
    executor box{asking(dir.path()), {}, unsandboxed};
    auto stream = box.stream("!echo asked", {.timeout = 60s});
    int requests = 0;
    std::string text;
    while (auto event = stream.next()) {
        if (auto const* request = std::get_if<approval_request>(&*event)) {
            ++requests;
            CHECK(request->argv() == std::vector<std::string>{"/bin/sh", "-c", "echo asked"});
            request->accept();
        }
        if (auto const* last = std::get_if<result<execution_result>>(&*event)) text = text_of(*last);
    }
    CHECK(requests == 1);
    CHECK(text == "asked");
}

TEST_CASE("tools: the time of a decision does not count", "[kernel]") {
    tool_box on;
    std::thread later;
    on.seen.decide = [&](approval_request const& r) {
        later = std::thread([r] {
            std::this_thread::sleep_for(1500ms);
            r.accept();
        });
    };
    auto const done = on.box.execute("echo.run(echo.Params(text='hi'))", {.timeout = 1s});
    later.join();
    CHECK(text_of(done) == "'hi'");
}

TEST_CASE("tools: the time of a decision counts beyond the longest pause", "[kernel]") {
    scratch_dir const dir;
    witness person;
    person.decide = [](approval_request const&) {}; // `asked` keeps it: open until its cell ends
    auto options = asking(dir.path());
    options.approval.longest_pause = 200ms;
    options.approval.timeout = 60s; // later than the timeout
    executor box(options, person.policy(), unsandboxed);
    REQUIRE(box.start());
    auto const late = box.execute("!echo never", {.timeout = 5s}); // time enough to ask
    REQUIRE_FALSE(late);
    CHECK(late.error() == errc::timed_out);
    CHECK(late.error().output()->text == "");
    REQUIRE(person.asked.size() == 1);
    CHECK_FALSE(person.asked[0].decided()->accepted());
}

TEST_CASE("tools: an open question of a thread stops the time of busy code no longer than the longest pause",
          "[kernel]") {
    tool_box on(2s);
    on.seen.decide = [](approval_request const&) {}; // `seen` keeps it
    auto const began = std::chrono::steady_clock::now();
    auto const r = on.box.execute(
        "import threading\nthreading.Thread(target=lambda: echo.run(echo.Params(text='hi')), daemon=True).start()\n"
        "while True: pass",
        {.timeout = 1s});
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::timed_out);
    CHECK(on.seen.asked.size() == 1);
    CHECK(std::chrono::steady_clock::now() - began >= 2s); // it did stop
}

TEST_CASE("Q11 tools: a cancelled cell cancels its call", "[kernel]") {
    tool_box on;
    auto const began = std::chrono::steady_clock::now();
    auto const late = on.box.execute("sleep.run(sleep.Params(seconds=60))", {.timeout = 300ms});
    REQUIRE_FALSE(late);
    CHECK(late.error() == condition::timeout);
    CHECK_FALSE(late.error().output()->kernel_restarted);
    CHECK(std::chrono::steady_clock::now() - began < 20s);
    CHECK(text_of(on.box.execute("echo.run(echo.Params(text='next'))")) == "'next'");
    CHECK(on.server()["cancelled"] == nlohmann::json{"sleep"});
}

TEST_CASE("tools: reset() stops the servers, and the next call starts them anew", "[kernel]") {
    tool_box on;
    auto const before = on.server()["pid"].get<pid_t>();
    CHECK(on.server()["pid"] == before);
    REQUIRE(on.box.reset());
    CHECK(eventually([&] { return ::kill(before, 0) != 0; }));
    REQUIRE(on.box.execute(tool_box::imports));
    auto const after = on.server()["pid"].get<pid_t>();
    CHECK(after != before);
    CHECK(::kill(after, 0) == 0);
}

TEST_CASE("tools: from eight threads at once, and from asyncio", "[kernel]") {
    tool_box on;
    auto const done =
        on.box.execute("from concurrent.futures import ThreadPoolExecutor\n"
                       "with ThreadPoolExecutor(8) as pool:\n"
                       "    got = list(pool.map(lambda n: echo.run(echo.Params(text=str(n))), range(200)))\n"
                       "print(got == [str(n) for n in range(200)])");
    CHECK(text_of(done) == "True");
}

TEST_CASE("shell: what is shown is what runs, expanded once", "[kernel]") {
    tool_box on;
    CHECK(text_of(on.box.execute("name = 'w o'\n!printf '%s\\n' {name} $name")) == "w\no\nw\no");
    REQUIRE(on.seen.asked.size() == 1);
    CHECK(on.seen.asked[0].kind() == approval_subject::action::shell);
    CHECK(on.seen.asked[0].argv() == std::vector<std::string>{"/bin/sh", "-c", R"(printf '%s\n' w o w o)"});
    CHECK(on.seen.asked[0].cwd() == on.dir.path());
}

TEST_CASE("Q3 shell: braces that belong to the command", "[kernel]") {
    tool_box on;
    std::ofstream(on.dir.path() / "a.txt") << "1 2\n";
    CHECK(text_of(on.box.execute("!find . -name a.txt -exec cat {} \\;")) == "1 2");
    CHECK(text_of(on.box.execute("!awk '{print $2}' a.txt")) == "2");
}

TEST_CASE("M13 shell: a bash cell is asked for once, with its text", "[kernel]") {
    tool_box on;
    CHECK(text_of(on.box.execute("%%bash\necho from bash\nread line\necho over")) != "");
    REQUIRE(on.seen.asked.size() == 1);
    CHECK(on.seen.asked[0].kind() == approval_subject::action::shell_magic);
    CHECK(on.seen.asked[0].argv() == std::vector<std::string>{"bash"});
    CHECK(on.seen.asked[0].subject()->input == "echo from bash\nread line\necho over\n");
}

TEST_CASE("shell: rejected", "[kernel]") {
    tool_box on;
    on.seen.decide = [](approval_request const& r) { r.reject("no"); };
    auto const rejected = on.box.execute("!touch here");
    REQUIRE_FALSE(rejected);
    CHECK(rejected.error().exception()->ename == "ApprovalRejectedError");
    CHECK_FALSE(std::filesystem::exists(on.dir.path() / "here"));
}

TEST_CASE("shell: a timeout ends the whole process group", "[kernel]") {
    tool_box on;
    auto const nap = "sleep 100." + std::to_string(::getpid()); // whose command line nobody else has
    auto const late = on.box.execute("!touch started; " + nap + " | " + nap, {.timeout = 1s});
    REQUIRE_FALSE(late);
    CHECK(late.error() == condition::timeout);
    CHECK_FALSE(late.error().output()->kernel_restarted);
    CHECK(std::filesystem::exists(on.dir.path() / "started"));
    CHECK(eventually([&] { return processes_of(nap) == 0; }));
    CHECK(text_of(on.box.execute("!echo next")) == "next");
}

TEST_CASE("W12 M14 shell: guards survive the death of a kernel", "[kernel]") {
    scratch_dir dir;
    witness seen;
    seen.decide = [](approval_request const& r) { r.reject(); };
    auto options = asking(dir.path());
    options.approval.require_shell_escape = true;
    options.kernel.restart_dead = true;
    executor box{options, seen.policy(), unsandboxed};
    REQUIRE(box.start());
    auto const refused = [&box](std::string const& code) {
        auto const done = box.execute(code);
        return !done && done.error().exception() ? done.error().exception()->ename : "<" + text_of(done) + ">";
    };
    for (int round = 0; round < 2; ++round) {
        CHECK(text_of(box.execute("1")) == "1");
        CHECK(refused("!touch here") == "ApprovalRejectedError");
        CHECK(refused("import subprocess; subprocess.run(['touch', 'here'])") == "PermissionError");
        CHECK(refused("import os; os.spawnv(os.P_WAIT, '/bin/touch', ['touch', 'here'])") == "PermissionError");
        CHECK(text_of(box.execute("import posix; posix.system('touch here') >> 8")) == "127");
        CHECK_FALSE(std::filesystem::exists(dir.path() / "here"));
        auto const died = box.execute("import os; os._exit(1)");
        REQUIRE_FALSE(died);
        CHECK(died.error() == errc::kernel_died);
    }
}

TEST_CASE("Q16 actions: the audit log tells all", "[kernel]") {
    scratch_dir dir;
    scratch_dir logs;
    witness seen;
    auto options = asking(dir.path());
    auto log = audit_log::open({.file = logs.path() / "audit.jsonl"});
    REQUIRE(log);
    options.approval.audit = *log;
    executor box{options, seen.policy(), unsandboxed};
    REQUIRE(box.execute("!exit 3"));
    std::ifstream file(logs.path() / "audit.jsonl");
    std::string line;
    std::vector<nlohmann::json> records;
    while (std::getline(file, line)) records.push_back(nlohmann::json::parse(line));
    REQUIRE(records.size() == 3);
    CHECK(records[0]["record"] == "request");
    CHECK(records[0].dump().find("exit 3") != std::string::npos);
    CHECK(records[1]["record"] == "decision");
    CHECK(records[2]["record"] == "outcome");
    CHECK(records[2]["outcome"] == "done");
    CHECK(records[2]["exit_code"] == 3);
    CHECK(records[2]["duration_ms"].get<double>() > 0);
}

TEST_CASE("actions: a kernel that cannot ask is not started where it would have to", "[kernel]") {
    scratch_dir dir;
    auto options = asking(dir.path());
    auto const code_of = [&options] {
        basic_executor<zmq_transport, no_sandbox, auto_approval> box(options, {}, {}, zmq_transport());
        auto const started = box.start();
        return started ? std::error_code() : started.error().code();
    };
    CHECK(code_of() == make_error_code(errc::invalid_argument));
    options.approval.require_shell_escape = true;
    CHECK(code_of() == make_error_code(errc::guard_unavailable));
    options.approval.shell_cmds = options.approval.require_shell_escape = false;
    CHECK_FALSE(code_of());
}

TEST_CASE("W1 W2 W3 W8 tools: the kernel does not say how a server is started", "[kernel]") {
    tool_box on;
    // Neither parameters of its own for a server that is registered, nor a server that nobody registered.
    auto const call = [&on](std::string const& server) {
        return on.box.execute("from ipybox_kernel.tools import ToolRunner\n"
                              "params = {'command': 'touch', 'args': ['${HOME}', 'here']}\n"
                              "ToolRunner('" +
                              server + "', params).run_sync('echo', {'text': 'hi'})");
    };
    CHECK(text_of(call("tools")) == "'hi'");
    auto const unknown = call("github");
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().exception()->ename == "ToolRunnerError");
    auto const forged =
        on.box.execute("from ipybox_kernel import actions\n"
                       "head = {'server': 'tools', 'tool': 'echo', 'server_params': params, 'command': 'touch here'}\n"
                       "actions.channel().call('call', head, b'{\"text\": \"hi\"}').head");
    if (!forged) CHECK(forged.error().exception()->ename == "ToolRunnerError");
    CHECK_FALSE(std::filesystem::exists(on.dir.path() / "here"));
    for (auto const& request : on.seen.asked) CHECK(request.arguments() == nlohmann::ordered_json{{"text", "hi"}});
}

TEST_CASE("W14 shell: the installation of a package is asked for as such", "[kernel]") {
    tool_box on;
    on.seen.decide = [](approval_request const& r) { r.reject(); };
    CHECK_FALSE(on.box.execute("%pip install six"));
    REQUIRE(on.seen.asked.size() == 1);
    CHECK(on.seen.asked[0].kind() == approval_subject::action::package);
}

TEST_CASE("W17 Q14 actions: nothing listens on a port", "[kernel]") {
    tool_box on;
    auto const script =
        "import glob, os, re, sys\n"
        "tables = ''.join(open(f'/proc/self/net/{name}').read() for name in ('tcp', 'tcp6', 'udp', 'udp6'))\n"
        "known = set(re.findall(r'\\d+', ' '.join(line.split()[9] for line in tables.splitlines() "
        "if line.split()[0].endswith(':'))))\n"
        "def sockets(pid):\n"
        "    links = [os.readlink(fd) for fd in glob.glob(f'/proc/{pid}/fd/*') if os.path.islink(fd)]\n"
        "    return {link[8:-1] for link in links if link.startswith('socket:')}\n"
        "ours = [sockets(pid) for pid in sys.argv[1:]]\n"
        "print(all(ours), set().union(*ours) & known)";
    scratch_dir const dir;
    std::ofstream(dir.path() / "look.py") << script;
    // A command may look, where the kernel may not.
    auto const look = "import os, sys\n!{sys.executable} " + (dir.path() / "look.py").string() +
                      " {os.getpid()} {os.getppid()} " + std::to_string(::getpid());
    CHECK(text_of(on.box.execute(look)) == "True set()");
}

TEST_CASE("Q1 tools: a reader may leave while a request waits", "[kernel]") {
    scratch_dir dir;
    executor box{asking(dir.path()), {}, unsandboxed};
    std::optional<approval_request> kept;
    {
        auto stream = box.stream("!touch here");
        while (auto event = stream.next()) {
            if (auto const* request = std::get_if<approval_request>(&*event)) kept = *request;
            if (kept) break;
        }
    }
    REQUIRE(kept);
    CHECK(text_of(box.execute("6 * 7")) == "42");
    kept->accept(); // too late
    CHECK(text_of(box.execute("6 * 7")) == "42");
    CHECK_FALSE(std::filesystem::exists(dir.path() / "here"));
}

TEST_CASE("actions: a reader that keeps its requests and forgets them does not hold up the code for ever", "[kernel]") {
    CHECK(executor_options().approval.timeout == std::chrono::hours(1));
    scratch_dir dir;
    auto options = asking(dir.path());
    options.approval.timeout = std::chrono::milliseconds(200);
    executor box{options, {}, unsandboxed};

    std::vector<execution_event> kept;
    auto stream = box.stream("!touch here");
    while (auto event = stream.next()) kept.push_back(std::move(*event));
    REQUIRE(kept.size() == 2);
    auto const& request = std::get<approval_request>(kept.front());
    CHECK(request.decided());
    CHECK_FALSE(request.accept());
    auto const& end = std::get<result<execution_result>>(kept.back());
    REQUIRE_FALSE(end);
    REQUIRE(end.error().exception());
    CHECK(end.error().exception()->ename == "ApprovalTimeoutError");
    CHECK_FALSE(std::filesystem::exists(dir.path() / "here"));
}

TEST_CASE("Q17 tools: an application that is busy holds up no tool of another executor", "[kernel]") {
    tool_box stuck;
    tool_box on;
    std::promise<void> asked;
    std::promise<void> over;
    stuck.seen.decide = [&](approval_request const& r) {
        asked.set_value();
        over.get_future().wait();
        r.accept();
    };
    std::thread waiting([&] { CHECK(text_of(stuck.box.execute("echo.run(echo.Params(text='late'))")) == "'late'"); });
    asked.get_future().wait();
    CHECK(text_of(on.box.execute("echo.run(echo.Params(text='hi'))")) == "'hi'");
    over.set_value();
    waiting.join();
}

TEST_CASE("M8 tools: 60 MB pass in both directions, with approval", "[kernel]") {
    tool_box on;
    auto const size = on.box.execute("len(echo.run(echo.Params(text='x' * 60_000_000)))");
    CHECK(text_of(size) == "60000000");
    REQUIRE(on.seen.asked.size() == 1);
}
