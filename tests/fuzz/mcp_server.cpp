// libFuzzer target: what a client of our MCP server could write, line by line (docs/mcp.md, section 7).
//
//     clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I include -I tests tests/fuzz/mcp_server.cpp -lcrypto
//     ./a.out --seed DIR && ./a.out -max_total_time=60 DIR
//
// Whatever comes, while handlers ask, report and end: no crash; each message that goes out is JSON on one line; nothing
// is left when the client is gone.

#include <ipybox/mcp/server_machine.hpp>

#include <fuzz/seeds.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace ipybox;
using fuzz::require;
using nlohmann::json;

mcp::server::options served() {
    mcp::server::options options;
    options.name = "fuzzed";
    options.limits.calls = 4;
    options.limits.questions = 3;
    options.limits.tasks = 2;
    for (char const* const name : {"a", "b"}) {
        mcp::server::tool tool;
        tool.definition.name = name;
        tool.definition.input_schema =
            nlohmann::ordered_json::parse(R"({"type":"object","properties":{"n":{"type":"integer"}}})");
        tool.tasks =
            name[0] == 'a' ? mcp::server::tool::task_support::optional : mcp::server::tool::task_support::forbidden;
        options.tools.push_back(tool);
    }
    return options;
}

/// A machine, and handlers that do the next thing with each line.
class driven {
  public:
    void line(std::string_view text) {
        now_ += std::chrono::seconds(3);
        take(machine_.on_time(now_));
        take(machine_.on_line(text, now_));
        if (running_.empty()) return;
        auto const call = running_.front();
        running_.pop_front();
        switch (++turns_ % 4) {
        case 0: return take(machine_.on_result(call, mcp::call_result(), now_));
        case 1: take(machine_.report(call, {double(turns_), 9, "so far"}, now_)); break;
        default: take(machine_.ask(call, "?", nlohmann::ordered_json::object(), now_).second);
        }
        running_.push_back(call);
    }

    void end() {
        take(machine_.on_end(now_));
        while (!running_.empty()) {
            auto const call = running_.front();
            running_.pop_front();
            take(machine_.on_result(call, mcp::call_result(), now_));
        }
        require(machine_.open_calls() == 0);
        require(machine_.open_questions() == 0);
    }

  private:
    void take(mcp::server_machine::actions actions) {
        for (auto const& action : actions) {
            if (auto const* const sent = std::get_if<mcp::server_actions::send>(&action)) {
                require(sent->line.find('\n') == std::string::npos);
                require(!json::parse(sent->line, nullptr, false).is_discarded());
            }
            if (auto const* const begun = std::get_if<mcp::server_actions::start>(&action))
                running_.push_back(begun->call);
        }
    }

    mcp::server::options options_ = served();
    mcp::server_machine::clock::time_point now_{std::chrono::hours(1)};
    mcp::server_machine machine_{options_, now_};
    std::deque<mcp::server_call_id> running_;
    int turns_ = 0;
};

} // namespace

std::vector<fuzz::seed> ipybox::fuzz::seeds() {
    return numbered(
        {R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","arguments":{"n":1},"task":{"ttl":5},"_meta":{"progressToken":1}}}
{"jsonrpc":"2.0","id":"question-1","result":{"action":"accept","content":{}}}
{"jsonrpc":"2.0","id":3,"method":"tasks/list"}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})",
         R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}
[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"b"}}]
{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"0"}})",
         R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}
{"jsonrpc":"2.0","id":2,"method":"tasks/update","params":{"taskId":"x","inputResponses":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}
{"jsonrpc":"2.0","id":3,"method":"server/discover","params":{"requestState":"x"}})"});
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view rest(reinterpret_cast<char const*>(data), size);
    driven server;
    for (int lines = 0; !rest.empty() && lines < 50; ++lines) {
        auto const end = rest.find('\n');
        server.line(rest.substr(0, end));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    server.end();
    return 0;
}
