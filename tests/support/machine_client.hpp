#pragma once

#include <ipybox/mcp/server_machine.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/** \file
 * A client of a `server_machine`, without a connection and with a clock that stands still.
 */

namespace ipybox::test {

/// Three tools: echo (with a schema), slow (which may be a task), and other.
inline mcp::server::options machine_options() {
    auto const tool = [](std::string name, char const* schema) {
        mcp::server::tool made;
        made.definition.name = std::move(name);
        made.definition.input_schema = nlohmann::ordered_json::parse(schema);
        return made;
    };
    mcp::server::options options;
    options.name = "tested";
    options.version = "1.2";
    options.title = "The tested server";
    options.instructions = "Call echo.";
    options.tools.push_back(
        tool("echo", R"({"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false})"));
    options.tools.back().definition.title = "Echo";
    options.tools.back().definition.annotations = nlohmann::json{{"readOnlyHint", true}};
    options.tools.back().definition.output_schema = nlohmann::ordered_json{{"type", "object"}};
    options.tools.push_back(tool("slow", R"({"type":"object"})"));
    options.tools.back().tasks = mcp::server::tool::task_support::optional;
    options.tools.push_back(tool("other", R"({"type":"object"})"));
    options.tools.back().definition.output_schema = nlohmann::ordered_json{{"type", "array"}};
    return options;
}

class machine_client {
  public:
    using json = nlohmann::json;
    using clock = mcp::server_machine::clock;

    explicit machine_client(mcp::server::options given = machine_options()) : options(std::move(given)) {}

    mcp::server::options options;
    clock::time_point now = clock::time_point() + std::chrono::hours(1);
    mcp::server_machine machine{options, now, std::chrono::system_clock::time_point(std::chrono::hours(24))};
    std::vector<std::string> lines; ///< as they were sent, and not taken yet
    std::vector<mcp::server_actions::start> started;
    std::vector<mcp::server_call_id> cancelled;
    std::vector<mcp::server_actions::answered> answered;
    std::vector<mcp::server::client_description> introduced;

    void take(mcp::server_machine::actions actions) {
        for (auto& action : actions) {
            if (auto* const a = std::get_if<mcp::server_actions::send>(&action)) lines.push_back(std::move(a->line));
            if (auto* const a = std::get_if<mcp::server_actions::start>(&action)) started.push_back(std::move(*a));
            if (auto* const a = std::get_if<mcp::server_actions::cancel>(&action)) cancelled.push_back(a->call);
            if (auto* const a = std::get_if<mcp::server_actions::answered>(&action)) answered.push_back(std::move(*a));
            if (auto* const a = std::get_if<mcp::server_actions::introduced>(&action)) introduced.push_back(*a->client);
        }
    }

    void say(std::string const& line) { take(machine.on_line(line, now)); }
    void pass(clock::duration time) {
        now += time;
        take(machine.on_time(now));
    }

    /// The only message that was sent since.
    json heard() {
        REQUIRE(lines.size() == 1);
        auto const line = std::exchange(lines, {}).front();
        REQUIRE(line.find('\n') == std::string::npos);
        return json::parse(line);
    }

    /// What is answered to a line, at once.
    json ask(std::string const& line) {
        say(line);
        return heard();
    }

    static std::string request(json const& id, std::string const& method, json const& params = json::object()) {
        return json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}.dump();
    }

    static std::string notification(std::string const& method, json const& params = json::object()) {
        return json{{"jsonrpc", "2.0"}, {"method", method}, {"params", params}}.dump();
    }

    /// `params` of a request of 2026-07-28.
    static json modern(json params = json::object(), json const& capabilities = json::object()) {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28";
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        params["_meta"]["io.modelcontextprotocol/clientInfo"] = {{"name", "tester"}, {"version", "7"}};
        return params;
    }

    /// Opens a session of a version before that.
    json initialize(std::string const& version, json const& capabilities = json::object()) {
        auto const answer = ask(request("init", "initialize",
                                        {{"protocolVersion", version},
                                         {"capabilities", capabilities},
                                         {"clientInfo", {{"name", "tester"}, {"version", "7"}}}}));
        say(notification("notifications/initialized"));
        return answer;
    }

    /// Begins a call, which starts a handler.
    mcp::server_call_id begin(json const& id, json const& params) {
        auto const before = started.size();
        say(request(id, "tools/call", params));
        REQUIRE(started.size() == before + 1);
        return started.back().call;
    }

    static mcp::call_result result(std::string text) {
        mcp::call_result r;
        r.content.emplace_back(mcp::content::text{std::move(text)});
        return r;
    }

    void end(mcp::server_call_id call, std::string text = "done") {
        take(machine.on_result(call, result(std::move(text)), now));
    }

    mcp::server_question_id question(mcp::server_call_id call, std::string const& message = "Sure?") {
        auto const form = nlohmann::ordered_json::parse(R"({"type":"object","properties":{}})");
        auto [id, actions] = machine.ask(call, message, form, now);
        take(std::move(actions));
        return id;
    }
};

inline std::string text_of(nlohmann::json const& answer) { return answer["result"]["content"][0]["text"]; }

inline int code_of(nlohmann::json const& answer) { return answer["error"]["code"]; }

inline std::vector<std::string> tool_names(nlohmann::json const& answer) {
    std::vector<std::string> names;
    for (auto const& tool : answer["result"]["tools"]) names.push_back(tool["name"]);
    return names;
}

/// Capabilities of a client whose user can be asked, and of one that takes tasks.
inline nlohmann::json declares_forms() { return nlohmann::json::parse(R"({"elicitation":{}})"); }
inline nlohmann::json declares_tasks() {
    return nlohmann::json::parse(R"({"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}})");
}

/// The names that tests of the machine use.
namespace machine_names {

using namespace std::chrono_literals;
using nlohmann::json;
using test::code_of;
using test::contains;
using test::declares_forms;
using test::declares_tasks;
using test::machine_client;
using test::text_of;
using test::tool_names;

} // namespace machine_names
} // namespace ipybox::test
