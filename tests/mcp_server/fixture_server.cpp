// An MCP server over standard input and output with a tool for each thing that a server can do: what clients of others
// are tried with.
//
//   mcp_fixture_server [--max-line-in BYTES] [--max-line-out BYTES] [--question-timeout MS] [--stalled-output MS]
//   [--tools-page N]

#include <ipybox/core/base64.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/server.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace ipybox;
using json = nlohmann::ordered_json;
using call_ptr = std::shared_ptr<mcp::server::call>;
using returned = asio::awaitable<mcp::call_result>;

mcp::call_result text(std::string said) {
    mcp::call_result r;
    r.content.emplace_back(mcp::content::text{std::move(said)});
    return r;
}

mcp::server::tool tool(std::string name, std::string description, std::string_view schema,
                       mcp::server::tool::handler_type handler) {
    mcp::server::tool made;
    made.definition.name = std::move(name);
    made.definition.description = std::move(description);
    made.definition.input_schema = json::parse(schema);
    made.handler = std::move(handler);
    return made;
}

returned echo(call_ptr call) {
    auto r = text(call->raw_arguments().text());
    r.structured_content = call->raw_arguments();
    co_return r;
}

returned add(call_ptr call) {
    auto const& given = call->arguments();
    json const sum = {{"sum", given["a"].get<double>() + given["b"].get<double>()}};
    mcp::call_result r;
    r.structured_content = *mcp::raw_json::of(sum);
    co_return r;
}

asio::awaitable<void> pause(std::chrono::milliseconds time) {
    auto const executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

returned slow(call_ptr call) {
    auto const steps = call->arguments()["steps"].get<int>();
    std::chrono::milliseconds const interval(call->arguments()["interval_ms"].get<int>());
    for (int step = 1; step <= steps; ++step) {
        call->progress(step, steps, "step " + std::to_string(step));
        co_await pause(interval); // some clients drop what comes together with the result
    }
    co_return text("took " + std::to_string(steps) + " steps");
}

json form() {
    return json::parse(R"({"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]})");
}

std::string described(result<mcp::server::elicitation> const& answer) {
    if (!answer) return "error " + std::to_string(answer.error().code().value()) + ": " + answer.error().text();
    switch (answer->action) {
    case mcp::server::elicitation::response::accept: return "accept " + answer->content.dump();
    case mcp::server::elicitation::response::decline: return "decline";
    default: return "cancel";
    }
}

returned ask(call_ptr call) {
    auto const times = call->arguments().value("times", 1);
    auto said = std::string(call->can_elicit() ? "" : "(cannot ask) ");
    co_await pause(std::chrono::milliseconds(call->arguments().value("delay_ms", 0)));
    for (int i = 1; i <= times; ++i) {
        auto const answer = co_await call->elicit("question " + std::to_string(i), form());
        said += (i > 1 ? "; " : "") + described(answer);
    }
    co_return text(said);
}

returned image(call_ptr) {
    constexpr std::string_view png =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    auto r = text("a picture");
    r.content.emplace_back(mcp::content::image{std::string(png), "image/png"});
    co_return r;
}

returned fail(call_ptr) {
    auto r = text("this tool always fails");
    r.is_error = true;
    co_return r;
}

returned throws(call_ptr) {
    throw std::runtime_error("thrown by the handler");
    co_return mcp::call_result();
}

returned big(call_ptr call) { co_return text(std::string(call->arguments()["bytes"].get<std::size_t>(), 'x')); }

/// How often `wait` was begun, and how often it was cancelled.
struct waits {
    int begun = 0;
    int cancelled = 0;
};

returned wait(call_ptr call, std::shared_ptr<waits> count) {
    struct on_exit {
        call_ptr call;
        std::shared_ptr<waits> count;
        ~on_exit() { count->cancelled += call->cancelled() ? 1 : 0; }
    } const counts{call, count};
    ++count->begun;
    co_await pause(std::chrono::hours(1));
    co_return text("waited");
}

returned waited(std::shared_ptr<waits> count) {
    json const said = {{"begun", count->begun}, {"cancelled", count->cancelled}};
    co_return text(said.dump());
}

returned client(call_ptr call) {
    auto const& c = call->client();
    json const said = {{"version", c.version},
                       {"name", c.name},
                       {"capabilities", json::parse(c.capabilities.dump())},
                       {"progress", call->wants_progress()}};
    co_return text(said.dump());
}

std::vector<mcp::server::tool> tools() {
    auto const count = std::make_shared<waits>();
    std::vector<mcp::server::tool> all;
    all.push_back(tool("echo", "Returns its arguments.", R"({"type":"object"})", echo));
    all.push_back(tool("add", "Adds two numbers.",
                       R"({"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},)"
                       R"("required":["a","b"],"additionalProperties":false})",
                       add));
    all.back().definition.title = "Addition";
    all.back().definition.output_schema =
        json::parse(R"({"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]})");
    all.back().definition.annotations = nlohmann::json{{"readOnlyHint", true}};
    all.push_back(tool("slow", "Takes steps and reports each.",
                       R"({"type":"object","properties":{"steps":{"type":"integer"},"interval_ms":{"type":"integer"}},)"
                       R"("required":["steps","interval_ms"]})",
                       slow));
    all.back().tasks = mcp::server::tool::task_support::optional;
    all.back().task_after = std::chrono::milliseconds(200);
    all.push_back(tool("ask", "Asks the user.",
                       R"({"type":"object","properties":{"times":{"type":"integer"},"delay_ms":{"type":"integer"}}})",
                       ask));
    all.back().tasks = mcp::server::tool::task_support::optional;
    all.back().task_after = std::chrono::milliseconds(0);
    all.push_back(tool("image", "Returns a picture.", R"({"type":"object"})", image));
    all.push_back(tool("fail", "Always fails.", R"({"type":"object"})", fail));
    all.push_back(tool("throws", "Has a bug.", R"({"type":"object"})", throws));
    all.push_back(
        tool("big", "Returns so many bytes.",
             R"({"type":"object","properties":{"bytes":{"type":"integer","minimum":0}},"required":["bytes"]})", big));
    all.push_back(tool("wait", "Waits for an hour.", R"({"type":"object"})",
                       [count](call_ptr call) { return wait(std::move(call), count); }));
    all.back().tasks = mcp::server::tool::task_support::optional;
    all.push_back(tool("waited", "How often `wait` was begun and cancelled.", R"({"type":"object"})",
                       [count](call_ptr) { return waited(count); }));
    all.push_back(tool("client", "What the client says of itself.", R"({"type":"object"})", client));
    return all;
}

/// The values of the options on the command line.
std::map<std::string_view, long> numbers_of(int argc, char** argv) {
    std::map<std::string_view, long> numbers;
    for (int i = 1; i + 1 < argc; i += 2) numbers[argv[i]] = std::strtol(argv[i + 1], nullptr, 10);
    return numbers;
}

mcp::server::limits limits_of(std::map<std::string_view, long> const& numbers) {
    mcp::server::limits limits;
    for (auto const& [name, number] : numbers) {
        if (name == "--max-line-in") limits.max_line_in = static_cast<std::size_t>(number);
        if (name == "--max-line-out") limits.max_line_out = static_cast<std::size_t>(number);
        if (name == "--tools-page") limits.tools_page = static_cast<std::size_t>(number);
        if (name == "--question-timeout") limits.question_timeout = std::chrono::milliseconds(number);
        if (name == "--stalled-output") limits.stalled_output = std::chrono::milliseconds(number);
    }
    return limits;
}

} // namespace

int main(int argc, char** argv) {
    mcp::server::options options;
    options.name = "fixture";
    options.version = "1.0";
    options.title = "A fixture";
    options.instructions = "Call echo.";
    options.tools = tools();
    options.limits = limits_of(numbers_of(argc, argv));
    auto const max_line_in = options.limits.max_line_in;
    auto const server = mcp::server::make(std::move(options));
    if (!server) {
        std::fprintf(stderr, "%s\n", server.error().text().c_str());
        return 1;
    }
    asio::io_context context(1);
    auto const channel = mcp::server::channel::stdio(max_line_in);
    if (!channel) return 1;
    int status = 0;
    asio::co_spawn(context, server->serve(*channel), [&](std::exception_ptr bug, result<void> outcome) {
        if (bug || !outcome) status = 2;
        if (!outcome) std::fprintf(stderr, "%s\n", outcome.error().text().c_str());
        context.stop(); // handlers that do not end are left behind
    });
    context.run();
    return status;
}
