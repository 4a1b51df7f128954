// Calls of MCP tools, timed in the kernel.

#include <ipybox/codegen.hpp>
#include <ipybox/http.hpp>
#include <ipybox/tools/host_tool.hpp>

#include <asio/awaitable.hpp>
#include <ours/bare_server.hpp>
#include <ours/child_program.hpp>
#include <ours/context.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace bench {
namespace {

constexpr char const* sdk = "echo_server.py";
constexpr char const* plain = "plain_echo_server.py";

/// An executor that has called nothing yet, and a package `mcptools.echo` for it.
ipybox::executor echo_executor(context const& context, std::string const& server, bool asks) {
    ipybox::executor_options options;
    options.approval.tool_calls = asks;
    auto box = context.new_executor(accept, options);
    require(box.register_mcp_server("echo", context.server(server)));
    require(box.generate_mcp_sources("echo", "mcptools"));
    require(box.start());
    return box;
}

/// Called on a thread of the session unless another executor is named.
ipybox::host_tool echo_function(decltype(ipybox::host_tool::options::executor) where = {}) {
    return {
        "echo", "Returns the text", {"text"}, [](std::string text) { return text; }, {.executor = std::move(where)}};
}

/// One that needs no thread.
ipybox::host_tool echo_coroutine() {
    auto const echo = [](std::string text) -> asio::awaitable<std::string> { co_return text; };
    return {"echo", "Returns the text", {"text"}, echo};
}

/// The same with a tool of this program in the place of the server.
ipybox::executor host_executor(context const& context, bool asks, ipybox::any_approval approval = accept,
                               ipybox::host_tool echo = echo_function()) {
    ipybox::executor_options options;
    options.approval.tool_calls = asks;
    auto box = context.new_executor(std::move(approval), options);
    require(box.add_tool(std::move(echo), "echo"));
    require(box.generate_mcp_sources("echo", "mcptools"));
    require(box.start());
    return box;
}

std::string calls(int size, int count) {
    return "keep([call(" + std::to_string(size) + ") for _ in range(" + std::to_string(count) + ")])";
}

template <bool Plain, bool Asks>
void tool_calls(context& context) {
    auto const suffix = std::string(Plain ? "_plain" : "") + (Asks ? "_approval" : "");
    auto const note = Asks ? "each accepted by a callback" : "no approval";
    auto box = echo_executor(context, Plain ? plain : sdk, Asks);
    require(box.execute(context.cell("tool_calls.py")));
    auto const measure = [&](std::string const& name, std::string const& unit, std::string const& cell) {
        if (context.wants(name + suffix)) context.record(name + suffix, unit, samples_of(box, cell), note);
    };
    measure("tool_100b", "ms", calls(100, 500 * context.repeat));
    measure("tool_1mb", "ms", calls(1'000'000, 20 * context.repeat));
    auto const bursts = std::to_string(15 * context.repeat);
    measure("tool_8_threads", "calls/s", "keep([burst(200) for _ in range(" + bursts + ")])");
}

/// The same over HTTP, to a server that runs already.
template <bool Asks>
void http_calls(context& context) {
    auto const command = context.server_command("http_echo_server.py");
    child_program server(command.front(), {command.begin() + 1, command.end()});
    ipybox::mcp::server_params params;
    params.url = server.line();
    ipybox::executor_options options;
    options.approval.tool_calls = Asks;
    auto box = context.new_executor(accept, options);
    require(box.register_mcp_server("echo", params));
    require(box.generate_mcp_sources("echo", "mcptools"));
    require(box.start());
    require(box.execute(context.cell("tool_calls.py")));
    context.record(Asks ? "tool_http_100b_approval" : "tool_http_100b", "ms",
                   samples_of(box, calls(100, 200 * context.repeat)),
                   Asks ? "each accepted by a callback" : "no approval");
    require(box.stop());
}

template <bool Asks>
void host_calls(context& context) {
    std::string const suffix = Asks ? "_approval" : "";
    auto const note = Asks ? "a function on a thread of the session, each call accepted by a callback"
                           : "a function on a thread of the session, no approval";
    auto box = host_executor(context, Asks);
    require(box.execute(context.cell("tool_calls.py")));
    auto const measure = [&](std::string const& name, std::string const& unit, std::string const& cell) {
        if (context.wants(name + suffix)) context.record(name + suffix, unit, samples_of(box, cell), note);
    };
    measure("host_tool_100b_thread", "ms", calls(100, 500 * context.repeat));
    measure("host_tool_1mb", "ms", calls(1'000'000, 20 * context.repeat));
    auto const bursts = std::to_string(15 * context.repeat);
    measure("host_tool_8_threads", "calls/s", "keep([burst(200) for _ in range(" + bursts + ")])");
}

/// A function that returns at once, on the executor's own strand.
template <bool Asks>
void short_host_calls(context& context) {
    auto box = host_executor(context, Asks, accept, echo_function(ipybox::host_tool::own_strand()));
    require(box.execute(context.cell("tool_calls.py")));
    context.record(Asks ? "host_tool_100b_approval" : "host_tool_100b", "ms",
                   samples_of(box, calls(100, 500 * context.repeat)),
                   Asks ? "a function on the own strand, each call accepted by a callback"
                        : "a function on the own strand, no approval");
}

void host_coroutine_calls(context& context) {
    auto box = host_executor(context, false, accept, echo_coroutine());
    require(box.execute(context.cell("tool_calls.py")));
    context.record("host_tool_100b_coroutine", "ms", samples_of(box, calls(100, 500 * context.repeat)),
                   "a coroutine of the host, no approval");
}

void first_calls(context& context) {
    std::vector<double> imported, called;
    for (int i = 0; i < 3 * context.repeat; ++i) {
        auto box = context.new_executor(accept);
        require(box.register_mcp_server("echo", context.server(plain)));
        require(box.generate_mcp_sources("echo", "mcptools"));
        require(box.reset()); // servers start anew
        auto const samples = samples_of(box, context.cell("tool_import.py"));
        imported.push_back(samples.at(0));
        called.push_back(samples.at(1));
    }
    context.record("tool_import", "ms", imported, "import of a generated module in a fresh kernel");
    context.record("tool_first_call", "ms", called, "starts the MCP server");
}

/// Ours less the server's own time. They take turns, so that both meet the same phases of the machine.
void above_server(context& context) {
    auto box = echo_executor(context, sdk, false);
    require(box.execute(context.cell("tool_calls.py")));
    bare_server bare(context.server_command(sdk));
    std::vector<double> above;
    for (int i = 0; i < 15 * context.repeat; ++i) {
        auto const own = median(bare.calls(100, 30));
        above.push_back(median(samples_of(box, calls(100, 30))) - own);
    }
    context.record("tool_above_server", "ms", above, "tool_100b less the time of the server itself");
}

/// The approval alone, in each shape of a policy. The executors take turns, so that all meet the same phases of the
/// machine.
void approval_shares(context& context) {
    auto const decide = [](ipybox::approval_request const&) { return ipybox::decision::accept(); };
    auto unasked = host_executor(context, false);
    auto by_decision = host_executor(context, true, decide);
    auto by_request = host_executor(context, true, accept);
    for (auto* const box : {&unasked, &by_decision, &by_request}) require(box->execute(context.cell("tool_calls.py")));
    std::vector<double> decision, request;
    for (int i = 0; i < 15 * context.repeat; ++i) {
        auto const call = median(samples_of(unasked, calls(100, 100)));
        decision.push_back(median(samples_of(by_decision, calls(100, 100))) - call);
        request.push_back(median(samples_of(by_request, calls(100, 100))) - call);
    }
    auto const note = std::string("host_tool_100b with approval, less the same without: ");
    context.record("approval_decision", "ms", decision, note + "a callback that returns a decision");
    context.record("approval_request", "ms", request, note + "a callback that answers through the request");
}

void bare_servers(context& context) {
    for (auto const& [suffix, file] : {std::pair{"", sdk}, std::pair{"_plain", plain}}) {
        bare_server bare(context.server_command(file));
        auto const note = std::string(file) + " behind nothing but its pipes";
        context.record(std::string("server_100b") + suffix, "ms", bare.calls(100, 100 * context.repeat), note);
        context.record(std::string("server_1mb") + suffix, "ms", bare.calls(1'000'000, 10 * context.repeat), note);
    }
}

void large_call(context& context) {
    auto const size = 60'000'000;
    auto box = echo_executor(context, plain, true);
    require(box.execute(context.cell("tool_calls.py")));
    auto const times = samples_of(box, calls(size, context.repeat));
    context.record("tool_60mb", "ms", times, "with approval");
    context.record("tool_60mb_received", "bytes", std::vector<double>(times.size(), size), "checked in the kernel");
}

} // namespace

std::vector<measurement> tool_measurements() {
    return {{{"tool_import", "tool_first_call"}, first_calls},
            {{"tool_100b", "tool_1mb", "tool_8_threads"}, tool_calls<false, false>},
            {{"tool_100b_approval", "tool_1mb_approval", "tool_8_threads_approval"}, tool_calls<false, true>},
            {{"tool_100b_plain", "tool_1mb_plain", "tool_8_threads_plain"}, tool_calls<true, false>},
            {{"tool_100b_plain_approval", "tool_1mb_plain_approval", "tool_8_threads_plain_approval"},
             tool_calls<true, true>},
            {{"tool_http_100b"}, http_calls<false>},
            {{"tool_http_100b_approval"}, http_calls<true>},
            {{"host_tool_100b"}, short_host_calls<false>},
            {{"host_tool_100b_approval"}, short_host_calls<true>},
            {{"host_tool_100b_thread", "host_tool_1mb", "host_tool_8_threads"}, host_calls<false>},
            {{"host_tool_100b_thread_approval", "host_tool_1mb_approval", "host_tool_8_threads_approval"},
             host_calls<true>},
            {{"host_tool_100b_coroutine"}, host_coroutine_calls},
            {{"approval_decision", "approval_request"}, approval_shares},
            {{"tool_above_server"}, above_server},
            {{"server_100b", "server_1mb", "server_100b_plain", "server_1mb_plain"}, bare_servers},
            {{"tool_60mb", "tool_60mb_received"}, large_call}};
}

} // namespace bench
