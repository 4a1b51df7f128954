// Measures how long one handler keeps an executor's thread, and what its host takes in memory, while code floods it,
// asks for much or prints much. Each case runs in a process of its own, with the kernel outside of any sandbox.
//
// longest_handler --benchmarks DIR [--server-python PYTHON] [--only CASE,…]

#include <ipybox/codegen.hpp>
#include <ipybox/executor.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>

#include <CLI/CLI.hpp>
#include <asio/io_context.hpp>
#include <ours/scratch_directory.hpp>

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using milliseconds = std::chrono::duration<double, std::milli>;

/// A cell may use these: `flood(kind, content, metadata, *buffers)` sends one message on the stream socket, `ask(head,
/// body)` one request on the action socket.
constexpr auto preamble = R"(
import json, os, sys
import ipybox_kernel.actions as actions
link, parent = get_ipython().kernel.link, json.dumps(get_ipython().kernel.get_parent()["header"], default=str).encode()
def flood(kind, content, metadata=b"{}", *buffers):
    link.send(1, [json.dumps({"msg_type": kind, "msg_id": "1"}).encode(), parent, metadata, content, *buffers])
def ask(head, body=b""):
    n = len(head)
    actions.current.socket.sendall((4 + n + len(body)).to_bytes(4, "little") + n.to_bytes(4, "little") + head + body)
data = b'{"data":{"application/json":%s},"metadata":{},"transient":{}}'
raw = b'{"raw":[[["data","application/json"],0,"text"]]}'
call = b'{"op":"call","id":%d,"cell":"","server":"echo","tool":"echo"}'
)";

struct flood_case {
    char const* name;
    char const* code;
};

/// Each ends with its time, or because its kernel is ended.
constexpr flood_case floods[] = {
    {"nothing", "pass"},
    {"small_messages", R"(
while True: flood("stream", b'{"name":"stdout","text":"x"}'))"},
    {"wide_json", R"(
wide = b'{"data":{},"metadata":{"a":[' + b"[]," * 49_000 + b"0]}}"
while True: flood("display_data", wide))"},
    {"wide_json_as_text", R"(
wide = data % (b"[" + b"[]," * 490_000 + b"0]")
while True: flood("display_data", wide))"},
    {"deep_json", R"(
deep = b'{"data":{},"metadata":{"a":' + b"[" * 490 + b"]" * 490 + b"}}"
while True: flood("display_data", deep))"},
    {"json_8_mb", R"(
long = data % (b"[" + b"1234567890123456," * 490_000 + b"0]")
while True: flood("display_data", long))"},
    {"text_in_json_8_mb", R"(
text = b'{"name":"stdout","text":"' + b"x" * 8_000_000 + b'"}'
while True: flood("stream", text))"},
    {"escaped_text_8_mb", R"(
text = b'{"name":"stdout","text":"' + rb"\u00e9" * 1_350_000 + b'"}'
while True: flood("stream", text))"},
    {"text_beside_json_60_mb", R"(
text = b"\n" * 60_000_000
while True: flood("stream", b'{"name":"stdout"}', b'{"raw":[[["text"],0,"text"]]}', text))"},
    {"json_beside_json_60_mb", R"(
wide = b"[" + b"0," * 400_000 + b'"' + b"x" * 58_000_000 + b'"]'
while True: flood("display_data", data % b'""', raw, wide))"},
    {"hostile_json_60_mb", R"(
wide = b"[" + b"[]," * 20_000_000 + b"0]"
while True: flood("display_data", data % b'""', raw, wide))"},
    {"hostile_frame_60_mb", R"(
wide = b"[" + b"[]," * 20_000_000 + b"0]"
while True: flood("display_data", data % wide))"},
    {"hostile_comm_7_mb", R"(
wide = b"[" + b"[]," * 2_500_000 + b"0]"
while True: flood("comm_msg", wide))"},
    {"traceback_8_mb", R"(
lines = b'{"ename":"E","evalue":"","traceback":["' + rb"\u001b[0m" * 900_000 + b'"]}'
while True: flood("error", lines))"},
    {"png_60_mb", R"(
image = b'\x89PNG\r\n\x1a\n' + b"x" * 60_000_000
while True: flood("display_data", b'{"data":{"image/png":""},"metadata":{},"transient":{}}', b'{"raw":[[["data","image/png"],0,"base64"]]}', image))"},
    {"png_as_base64_8_mb", R"(
image = b'{"data":{"image/png":"iVBORw0KGgo' + b"A" * 8_000_001 + b'"},"metadata":{},"transient":{}}'
while True: flood("display_data", image))"},
    {"many_displays", R"(
one = b'{"data":{"text/plain":"x"},"metadata":{},"transient":{"display_id":"a"}}'
for i in range(10_000): flood("display_data", one)
while True: flood("update_display_data", b'{"data":{"text/html":"' + b"x" * 100_000 + b'"},"metadata":{},"transient":{"display_id":"a"}}'))"},
    {"print_200_mb", R"(
for i in range(20): print("x" * 10_000_000)
while True: pass)"},
    {"print_100_mb", R"(
for i in range(10): print("x" * 10_000_000)
while True: pass)"},
    {"action_head", R"(
head = b'{"op":"call","id":1,"x":[' + b"[]," * 9_900 + b"0]}"
while True: ask(head))"},
    {"action_arguments_64_mb", R"(
body = b'{"text":"' + b"x" * 66_000_000 + b'"}'
i = 0
while True: i += 1; ask(call % i, body))"},
    {"action_arguments_wide", R"(
body = b'{"text":[' + b"[]," * 49_000 + b"0]}"
i = 0
while True: i += 1; ask(call % i, body))"},
    {"action_arguments_long_names", R"(
body = b'{' + b",".join(b'"%0640d":0' % i for i in range(49_000)) + b"}"
i = 0
while True: i += 1; ask(call % i, body))"},
    {"no_actions", R"(
while True: ask(b"{}"))"},
    {"tool_result_60_mb", R"(
from mcptools.echo import echo
text = "x" * 60_000_000
echo.run(echo.Params(text=text)))"},
};

constexpr auto timeout = 3s;

[[nodiscard]] milliseconds cpu_time() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// The largest amount of memory that this process has had, in MB.
[[nodiscard]] double peak_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
    return 0;
}

/// An application's I/O context whose handlers are timed one by one.
class timed_context {
  public:
    [[nodiscard]] asio::any_io_executor executor() { return context_.get_executor(); }

    /// Runs handlers until an operation has its result, which `initiate` starts with the completion that it is given.
    template <class Result, class Initiate>
    Result run(Initiate initiate) {
        std::optional<Result> outcome;
        initiate([&outcome](Result r) { outcome.emplace(std::move(r)); });
        while (!outcome) run_one();
        return std::move(*outcome);
    }

    [[nodiscard]] milliseconds longest() const { return longest_; }
    [[nodiscard]] milliseconds longest_cpu() const { return longest_cpu_; }

  private:
    void run_one() {
        auto const began = std::chrono::steady_clock::now();
        auto const cpu_began = cpu_time();
        if (context_.poll_one() == 0) return std::this_thread::sleep_for(50us);
        longest_cpu_ = std::max(longest_cpu_, cpu_time() - cpu_began);
        longest_ = std::max(longest_, milliseconds(std::chrono::steady_clock::now() - began));
    }

    asio::io_context context_;
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    milliseconds longest_{0};
    milliseconds longest_cpu_{0};
};

ipybox::mcp::server_params python_server(std::string const& python, std::filesystem::path const& script,
                                         std::vector<std::string> arguments = {}) {
    ipybox::mcp::server_params params;
    params.command = python;
    params.args = {script.string()};
    params.args.insert(params.args.end(), arguments.begin(), arguments.end());
    return params;
}

struct places {
    std::filesystem::path benchmarks;
    std::string server_python = "python3";
};

void report(std::string const& name, timed_context const& context, double idle, std::string const& end) {
    std::printf("%-28s %8.1f %8.1f %8.0f   %s\n", name.c_str(), context.longest_cpu().count(),
                context.longest().count(), peak_memory() - idle, end.c_str());
}

using box_type = ipybox::executor;

void generate(timed_context& context, box_type& box, std::string const& server) {
    using outcome = ipybox::result<ipybox::codegen::generated_sources>;
    auto const done = context.run<outcome>(
        [&](auto handler) { box.async_generate_mcp_sources(server, "mcptools", std::move(handler)); });
    if (!done) std::printf("%s\n", done.error().text().c_str());
}

/// How an execution ended, and by how much its timeout was exceeded.
std::string run_code(timed_context& context, box_type& box, std::string const& code,
                     std::optional<std::chrono::milliseconds> bound) {
    ipybox::execute_options options;
    options.timeout = bound;
    auto const began = std::chrono::steady_clock::now();
    using outcome = ipybox::result<ipybox::execution_result>;
    auto const done =
        context.run<outcome>([&](auto handler) { box.async_execute(preamble + code, options, std::move(handler)); });
    milliseconds const took = std::chrono::steady_clock::now() - began;
    auto end = done ? std::string("done") : done.error().code().message();
    return end + " after " + std::to_string(static_cast<int>(took.count())) + " ms";
}

void measure(std::string const& name, places const& where) {
    bench::scratch_directory const here;
    timed_context context;
    auto const accept = [](ipybox::approval_request const& request) { request.accept(); };
    box_type box(context.executor(), {}, accept, ipybox::no_sandbox{});
    auto const servers = where.benchmarks / "servers";
    auto const echo = python_server(where.server_python, servers / "plain_echo_server.py");
    auto const many = python_server(where.server_python, servers / "many_tools_server.py", {"5000"});
    (void)box.register_mcp_server("echo", echo);
    (void)box.register_mcp_server("many", many);
    if (name == "generate_5000_tools") {
        auto const idle = peak_memory();
        generate(context, box, "many");
        return report(name, context, idle, "done");
    }
    generate(context, box, "echo");
    (void)run_code(context, box, "pass", {});
    auto const idle = peak_memory();
    for (auto const& [known, code] : floods)
        if (name == known) report(name, context, idle, run_code(context, box, code, timeout));
}

/// Each case begins with a process that has done nothing yet.
void measure_apart(std::string const& name, places const& where) {
    std::fflush(stdout);
    auto const child = ::fork();
    if (child == 0) {
        measure(name, where);
        std::fflush(stdout);
        ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
}

} // namespace

int main(int argc, char** argv) {
    places where;
    std::vector<std::string> only;
    CLI::App app("Measures the longest handler of an executor and the memory of its host under floods");
    app.add_option("--benchmarks", where.benchmarks, "directory with servers/")->required();
    app.add_option("--server-python", where.server_python, "interpreter of the MCP servers")->capture_default_str();
    app.add_option("--only", only, "cases to measure")->delimiter(',');
    CLI11_PARSE(app, argc, argv);
    where.benchmarks = std::filesystem::absolute(where.benchmarks);

    std::vector<std::string> names;
    for (auto const& one : floods) names.emplace_back(one.name);
    names.emplace_back("generate_5000_tools");
    std::printf("%-28s %8s %8s %8s   %s\n", "case", "CPU ms", "ms", "MB", "end");
    for (auto const& name : names)
        if (only.empty() || std::ranges::find(only, name) != only.end()) measure_apart(name, where);
}
