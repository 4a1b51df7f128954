#include <ipybox/mcp/write_call_result.hpp>

#include <support/machine_client.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::test::machine_names;

} // namespace

// --- versions ---------------------------------------------------------------------------------------------------------

TEST_CASE("server_machine: a version is agreed on") {
    std::map<std::string, std::string> const agreed{{"2024-11-05", "2024-11-05"},
                                                    {"2025-03-26", "2025-03-26"},
                                                    {"2025-06-18", "2025-06-18"},
                                                    {"2025-11-25", "2025-11-25"},
                                                    {"2026-07-28", "2025-11-25"},
                                                    {"1999-01-01", "2025-11-25"},
                                                    {"", "2025-11-25"}};
    for (auto const& [asked, expected] : agreed) {
        CAPTURE(asked);
        machine_client c;
        auto const answer = c.initialize(asked)["result"];
        CHECK(answer["protocolVersion"] == expected);
        CHECK(answer["instructions"] == "Call echo.");
        CHECK(answer["serverInfo"]["name"] == "tested");
        CHECK(answer["serverInfo"].contains("title") == (expected >= "2025-06-18"));
        CHECK(answer["capabilities"].contains("tasks") == (expected == "2025-11-25"));
        CHECK(answer["capabilities"].contains("tools"));
        REQUIRE(c.introduced.size() == 1);
        CHECK(c.introduced[0].version == expected);
        CHECK(c.introduced[0].name == "tester");
        CHECK(tool_names(c.ask(c.request(1, "tools/list"))) == std::vector<std::string>{"echo", "slow", "other"});
    }
}

TEST_CASE("server_machine: requests before initialize are refused, pings are not") {
    machine_client c;
    CHECK(c.ask(c.request(1, "ping")) == json{{"jsonrpc", "2.0"}, {"id", 1}, {"result", json::object()}});
    for (auto const* const method : {"tools/list", "tools/call", "server/discover", "logging/setLevel", "no/such"}) {
        auto const answer = c.ask(c.request(2, method));
        CHECK(code_of(answer) == -32602);
        CHECK(contains(answer["error"]["message"].get<std::string>(), "clientCapabilities"));
    }
    c.say(c.notification("notifications/initialized"));
    CHECK(code_of(c.ask(c.request(3, "tools/list"))) == -32602);
    CHECK(c.introduced.empty());
}

TEST_CASE("server_machine: server/discover") {
    machine_client c;
    auto const answer = c.ask(c.request("d", "server/discover", c.modern()))["result"];
    CHECK(answer["resultType"] == "complete");
    CHECK(answer["supportedVersions"][0] == "2026-07-28");
    CHECK(answer["supportedVersions"].size() == 5);
    CHECK(answer["capabilities"]["extensions"].contains("io.modelcontextprotocol/tasks"));
    CHECK(answer["instructions"] == "Call echo.");
    CHECK(answer["ttlMs"].is_number_unsigned());
    CHECK(answer["cacheScope"] == "private");
    CHECK(answer["_meta"]["io.modelcontextprotocol/serverInfo"]["title"] == "The tested server");
}

TEST_CASE("server_machine: _meta of requests of 2026-07-28 is validated") {
    struct row {
        char const* meta;
        int code;
        char const* text;
    };
    for (
        auto const& [meta, code, text] :
        {row{R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28"})", -32602, "clientCapabilities"},
         row{R"({"io.modelcontextprotocol/clientCapabilities":{}})", -32602, "protocolVersion"},
         row{R"({"io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":{}})", -32602,
             "protocolVersion"},
         row{R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]})",
             -32602, "clientCapabilities"},
         row{R"({"io.modelcontextprotocol/protocolVersion":"1900-01-01","io.modelcontextprotocol/clientCapabilities":{}})",
             -32022, "1900-01-01"},
         row{R"({"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}})",
             -32022, "2025-11-25"},
         row{"7", -32602, "`_meta` has to be an object"}}) {
        CAPTURE(meta);
        machine_client c;
        auto const answer = c.ask(c.request(1, "tools/list", {{"_meta", json::parse(meta)}}));
        CHECK(code_of(answer) == code);
        CHECK(contains(answer["error"]["message"].get<std::string>(), text));
        CHECK(answer["error"].contains("data") == (code == -32022));
        if (code == -32022) CHECK(answer["error"]["data"]["supported"][0] == "2026-07-28");
    }
}

TEST_CASE("server_machine: a description of a client has 64 KiB at most") {
    machine_client c;
    auto const of = [&](std::size_t size) {
        auto params = c.modern();
        auto& name = params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"];
        name = "";
        auto const rest = params["_meta"]["io.modelcontextprotocol/clientInfo"].dump().size() + 2;
        name = std::string(size - rest, 'n');
        return c.ask(c.request(1, "tools/list", params));
    };
    CHECK(of(mcp::longest_description).contains("result"));
    CHECK(code_of(of(mcp::longest_description + 1)) == -32602);
}

TEST_CASE("server_machine: a probe, and then either era") {
    machine_client c;
    c.ask(c.request(1, "server/discover", c.modern()));
    CHECK(c.ask(c.request(2, "tools/list", c.modern()))["result"]["resultType"] == "complete");
    CHECK(c.initialize("2025-06-18")["result"]["protocolVersion"] == "2025-06-18");
    auto const legacy = c.ask(c.request(3, "tools/list"))["result"];
    CHECK_FALSE(legacy.contains("resultType"));
    CHECK_FALSE(legacy.contains("ttlMs"));
    CHECK(c.ask(c.request(4, "tools/list", c.modern()))["result"]["resultType"] == "complete"); // both at once
    CHECK(c.introduced.size() == 1);
}

TEST_CASE("server_machine: what tools have in each version") {
    std::map<std::string, std::vector<std::string>> const members{
        {"2024-11-05", {"inputSchema", "name"}},
        {"2025-03-26", {"annotations", "inputSchema", "name"}},
        {"2025-06-18", {"annotations", "inputSchema", "name", "outputSchema", "title"}},
        {"2025-11-25", {"annotations", "inputSchema", "name", "outputSchema", "title"}},
        {"2026-07-28", {"annotations", "inputSchema", "name", "outputSchema", "title"}}};
    for (auto const& [spoken, expected] : members) {
        CAPTURE(spoken);
        machine_client c;
        bool const modern = spoken == "2026-07-28";
        if (!modern) c.initialize(spoken);
        auto const list = c.ask(c.request(1, "tools/list", modern ? c.modern() : json::object()))["result"]["tools"];
        std::vector<std::string> names;
        for (auto const& [name, value] : list[0].items()) names.push_back(name);
        CHECK(names == expected);
        CHECK(list[1].contains("execution") == (spoken == "2025-11-25"));
        CHECK(list[2].contains("outputSchema") == modern); // of an array
    }
}

TEST_CASE("server_machine: pages of tools") {
    auto options = test::machine_options();
    options.limits.tools_page = 2;
    machine_client c(options);
    c.initialize("2025-11-25");
    auto const first = c.ask(c.request(1, "tools/list"));
    CHECK(tool_names(first) == std::vector<std::string>{"echo", "slow"});
    auto const next = first["result"]["nextCursor"];
    auto const second = c.ask(c.request(2, "tools/list", {{"cursor", next}}));
    CHECK(tool_names(second) == std::vector<std::string>{"other"});
    CHECK_FALSE(second["result"].contains("nextCursor"));
    for (auto const& cursor : {json("1"), json("4"), json("02"), json("-2"), json("x"), json(""), json(2), json("2 ")})
        CHECK(code_of(c.ask(c.request(3, "tools/list", {{"cursor", cursor}}))) == -32602);
}

TEST_CASE("server_machine: unknown methods and notifications") {
    machine_client c;
    c.initialize("2025-11-25");
    for (auto const* const method : {"resources/list", "prompts/list", "completion/complete", "server/discover", "x"})
        CHECK(code_of(c.ask(c.request(1, method))) == -32601);
    for (auto const* const method : {"ping", "logging/setLevel", "tasks/list", "tasks/result", "subscriptions/listen"})
        CHECK(code_of(c.ask(c.request(1, method, c.modern()))) == -32601);
    CHECK(c.ask(c.request(1, "logging/setLevel", {{"level", "debug"}}))["result"] == json::object());
    for (auto const* const method : {"notifications/roots/list_changed", "notifications/x", "tools/list", "initialize"})
        c.say(c.notification(method));
    CHECK(c.lines.empty());
    auto const long_name = std::string(1000, 'm');
    CHECK(c.ask(c.request(1, long_name))["error"]["message"].get<std::string>().size() < 200);
}

// --- lines ------------------------------------------------------------------------------------------------------------

TEST_CASE("server_machine: ids of every type") {
    machine_client c;
    c.initialize("2025-11-25");
    for (auto const* const id :
         {"1", "0", "-7", "\"a\"", "\"\"", "\"1\"", "123456789012345678901234567890", R"("\u00e4\n")"})
        CHECK(contains((c.say(std::string(R"({"jsonrpc":"2.0","method":"ping","id":)") + id + "}"), c.lines.back()),
                       std::string(R"("id":)") + id + ","));
    c.lines.clear();
    for (auto const* const id :
         {"null", "1.5", "1e3", "true", "[]", "[1]", "{}", R"({"a":1})", "\"\xff\"", R"("\ud800")"}) {
        CAPTURE(id);
        auto const answer = c.ask(std::string(R"({"jsonrpc":"2.0","method":"ping","id":)") + id + "}");
        CHECK(code_of(answer) == -32600);
        CHECK(answer["id"].is_null());
    }
    auto const id_of = [](std::size_t size) { return json(std::string(size - 2, 'i')); };
    CHECK(c.ask(c.request(id_of(mcp::longest_request_id), "ping")).contains("result"));
    CHECK(code_of(c.ask(c.request(id_of(mcp::longest_request_id + 1), "ping"))) == -32600);
}

TEST_CASE("server_machine: what is no message") {
    struct row {
        char const* line;
        int code;
        json id;
    };
    machine_client c;
    for (auto const& [line, code, id] :
         {row{"garbage", -32700, nullptr}, row{"{", -32700, nullptr},
          row{R"({"jsonrpc":"2.0","id":1,"method":"ping")", -32700, nullptr},
          row{R"({"jsonrpc":"2.0","id":1,"method":"ping"}x)", -32700, nullptr}, row{"1", -32600, nullptr},
          row{"null", -32600, nullptr}, row{"\"x\"", -32600, nullptr}, row{"{}", -32600, nullptr},
          row{R"({"jsonrpc":"1.0","id":1,"method":"ping"})", -32600, 1},
          row{R"({"id":"a","method":"ping"})", -32600, "a"}, row{R"({"jsonrpc":"2.0","id":1,"method":7})", -32600, 1},
          row{R"({"jsonrpc":"2.0","id":1,"method":""})", -32600, 1},
          row{R"({"jsonrpc":"2.0","id":5,"method":"ping","params":[]})", -32602, 5},
          row{R"({"jsonrpc":"2.0","id":5,"method":"ping","params":7})", -32602, 5}, row{"[]", -32600, nullptr},
          row{R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", -32600, nullptr}}) {
        CAPTURE(line);
        auto const answer = c.ask(line);
        CHECK(code_of(answer) == code);
        CHECK(answer["id"] == id);
    }
    for (auto const* const line : {"", "   ", "\t\r", R"({"jsonrpc":"2.0","id":7,"result":{}})",
                                   R"({"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}})",
                                   R"({"jsonrpc":"2.0","error":{"code":1,"message":"x"}})",
                                   R"({"jsonrpc":"2.0","id":"question-1","result":{"action":"accept"}})"})
        c.say(line);
    CHECK(c.lines.empty());
}

TEST_CASE("server_machine: depth and values of a line") {
    auto options = test::machine_options();
    options.limits.json_values = 1000;
    machine_client c(options);
    auto const deep = [](int levels) {
        // the message and its params are two of them
        return R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":)" + std::string(levels - 2, '[') +
               std::string(levels - 2, ']') + "}}";
    };
    CHECK(c.ask(deep(500)).contains("result"));
    auto const refused = c.ask(deep(501));
    CHECK(code_of(refused) == -32600);
    CHECK(refused["id"] == 1);
    CHECK(code_of(c.ask(deep(400'000))) == -32600);

    auto const many = [](int values) {
        std::string list = "[1";
        for (int i = 1; i < values; ++i) list += ",1";
        return R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":)" + list + "]}}";
    };
    CHECK(c.ask(many(900)).contains("result"));
    CHECK(code_of(c.ask(many(1000))) == -32600);
    c.take(c.machine.on_long_line(c.now));
    auto const too_long = c.heard();
    CHECK(code_of(too_long) == -32700);
    CHECK(too_long["id"].is_null());
    c.take(c.machine.on_long_line(c.now, "\"a\""));
    auto const named = c.heard();
    CHECK(code_of(named) == -32600);
    CHECK(named["id"] == "a");
    for (auto const* const other : {"1.5", "{", "null", "[1]"}) {
        c.take(c.machine.on_long_line(c.now, other));
        CHECK(c.heard()["id"].is_null());
    }
}

TEST_CASE("server_machine: batches of 2025-03-26") {
    machine_client c;
    c.initialize("2025-03-26");
    auto const list = [&](std::vector<std::string> const& messages) {
        std::string line = "[";
        for (auto const& message : messages) line += (line.size() > 1 ? "," : "") + message;
        return line + "]";
    };
    auto const answer =
        c.ask(list({c.request(1, "ping"), c.notification("notifications/x"), "7", c.request("b", "no")}));
    REQUIRE(answer.is_array());
    REQUIRE(answer.size() == 3);
    CHECK(answer[0]["id"] == 1);
    CHECK(code_of(answer[1]) == -32600);
    CHECK(code_of(answer[2]) == -32601);
    c.say(list({c.notification("notifications/x")}));
    CHECK(c.lines.empty());

    // the answers wait for the calls, one of which is cancelled
    c.say(list({c.request(5, "tools/call", {{"name", "echo"}}), c.request(6, "tools/call", {{"name", "echo"}}),
                c.request(7, "ping")}));
    CHECK(c.lines.empty());
    REQUIRE(c.started.size() == 2);
    c.end(c.started[0].call);
    CHECK(c.lines.empty());
    c.say(c.notification("notifications/cancelled", {{"requestId", 6}}));
    auto const late = c.heard();
    REQUIRE(late.size() == 2);
    CHECK(late[0]["id"] == 7);
    CHECK(late[1]["id"] == 5);

    CHECK(c.ask(list(std::vector<std::string>(100, c.request(1, "ping")))).size() == 100);
    CHECK(code_of(c.ask(list(std::vector<std::string>(101, c.request(1, "ping"))))) == -32600);
    CHECK(code_of(c.ask("[]")) == -32600);
    c.initialize("2025-06-18");
    CHECK(code_of(c.ask(list({c.request(1, "ping")}))) == -32600);
}

TEST_CASE("server_machine: answers of a batch that are too long for a line go in several") {
    auto options = test::machine_options();
    options.limits.max_line_out = 3000;
    machine_client c(options);
    c.initialize("2025-03-26");
    std::string line = "[" + c.request(0, "tools/list");
    for (int i = 1; i < 20; ++i) line += "," + c.request(i, "tools/list");
    c.say(line + "]");
    std::vector<int> ids;
    CHECK(c.lines.size() > 1);
    for (auto const& sent : c.lines) {
        CHECK(sent.size() <= 3000);
        for (auto const& answer : json::parse(sent)) ids.push_back(answer["id"]);
    }
    REQUIRE(ids.size() == 20);
    for (int i = 0; i < 20; ++i) CHECK(ids[static_cast<std::size_t>(i)] == i);
}

// --- calls ------------------------------------------------------------------------------------------------------------

TEST_CASE("server_machine: a call in each version") {
    for (std::string const spoken : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}) {
        CAPTURE(spoken);
        machine_client c;
        bool const modern = spoken == "2026-07-28";
        if (!modern) c.initialize(spoken);
        json params{{"name", "echo"}, {"arguments", {{"n", 3}}}};
        auto const call = c.begin("call", modern ? c.modern(params) : params);
        CHECK(c.started[0].tool->definition.name == "echo");
        CHECK(c.started[0].arguments.text() == R"({"n":3})");
        CHECK(c.started[0].client->version == spoken);
        CHECK(c.started[0].client->client_version == "7");
        CHECK(c.lines.empty());
        auto r = c.result("three");
        r.structured_content = *mcp::raw_json::read(R"({"b":1,"a":2})");
        c.take(c.machine.on_result(call, r, c.now));
        auto const answer = c.heard();
        CHECK(answer["id"] == "call");
        CHECK(text_of(answer) == "three");
        CHECK(answer["result"]["isError"] == false);
        CHECK(answer["result"].contains("structuredContent") == (spoken >= "2025-06-18"));
        CHECK(answer["result"].contains("resultType") == modern);
        CHECK(answer["result"].contains("_meta") == modern);
        CHECK(c.machine.open_calls() == 0);
        c.end(call); // twice
        CHECK(c.lines.empty());
    }
}

TEST_CASE("server_machine: calls that cannot be") {
    machine_client c;
    c.initialize("2025-11-25");
    auto const call = [&](json const& params) { return c.ask(c.request(1, "tools/call", params)); };
    for (auto const& params : {json{{"name", "nope"}}, json{{"name", 7}}, json::object(), json{{"name", nullptr}},
                               json{{"name", "echo"}, {"arguments", 7}}, json{{"name", "echo"}, {"arguments", {1}}}})
        CHECK(code_of(call(params)) == -32602);
    CHECK(code_of(call({{"name", "echo"}, {"task", json::object()}})) == -32601);
    CHECK(c.started.empty());
}

TEST_CASE("server_machine: arguments that do not fit are the tool's error, for the model to mend") {
    machine_client c;
    c.initialize("2024-11-05");
    struct row {
        char const* arguments;
        char const* fault;
    };
    for (auto const& [arguments, fault] : {row{R"({"n":"x"})", "n has to be an integer, not \"x\""},
                                           row{R"({"m":1})", "m"}, row{R"({"n":1,"n":2})", "\"n\""}}) {
        c.say(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":)" +
              std::string(arguments) + "}}");
        auto const answer = c.heard();
        CHECK(answer["result"]["isError"] == true);
        CHECK(contains(text_of(answer), fault));
    }
    c.begin(2, {{"name", "echo"}});
    c.begin(3, {{"name", "echo"}, {"arguments", nullptr}});
    CHECK(c.started[0].arguments.text() == "{}");
    CHECK(c.started[1].arguments.text() == "{}");
}

TEST_CASE("server_machine: a checker of the tool's own") {
    auto options = test::machine_options();
    options.tools[0].check = [](json const& arguments) -> std::optional<std::string> {
        if (arguments.contains("bug")) throw std::runtime_error("a bug");
        return arguments.contains("n") ? std::nullopt : std::optional<std::string>("n is missing");
    };
    machine_client c(options);
    c.initialize("2025-11-25");
    CHECK(contains(text_of(c.ask(c.request(1, "tools/call", {{"name", "echo"}}))), "n is missing"));
    CHECK(
        contains(text_of(c.ask(c.request(1, "tools/call", {{"name", "echo"}, {"arguments", {{"bug", 1}}}}))), "a bug"));
    c.begin(1, {{"name", "echo"}, {"arguments", {{"n", "anything"}}}});
}

TEST_CASE("server_machine: ids in flight are not taken twice") {
    machine_client c;
    c.initialize("2025-11-25");
    auto const call = c.begin(5, {{"name", "echo"}});
    for (auto const* const method : {"tools/call", "ping", "tools/list"}) {
        auto const refused = c.ask(c.request(5, method, {{"name", "echo"}}));
        CHECK(code_of(refused) == -32600);
        CHECK(refused["id"].is_null()); // it would be taken for the answer to the call
    }
    c.begin("5", {{"name", "echo"}}); // another id
    c.end(call);
    CHECK(c.heard()["id"] == 5);
    c.begin(5, {{"name", "echo"}}); // free again
    CHECK(c.started.size() == 3);
}

TEST_CASE("server_machine: so many calls at once, and one more") {
    auto options = test::machine_options();
    options.limits.calls = 3;
    machine_client c(options);
    c.initialize("2025-11-25");
    for (int i = 0; i < 3; ++i) c.begin(i, {{"name", "echo"}});
    CHECK(code_of(c.ask(c.request(9, "tools/call", {{"name", "echo"}}))) == -32603);
    CHECK(c.ask(c.request(9, "ping")).contains("result"));
    c.say(c.notification("notifications/cancelled", {{"requestId", 1}}));
    CHECK(code_of(c.ask(c.request(9, "tools/call", {{"name", "echo"}}))) == -32603); // its handler has not ended
    c.end(c.started[1].call);
    CHECK(c.lines.empty());
    c.begin(9, {{"name", "echo"}});
}

TEST_CASE("server_machine: cancellation") {
    machine_client c;
    c.initialize("2025-11-25");
    auto const call = c.begin("x", {{"name", "echo"}, {"_meta", {{"progressToken", 1}}}});
    for (auto const& id : {json("y"), json(7), json(nullptr), json::object()})
        c.say(c.notification("notifications/cancelled", {{"requestId", id}}));
    c.say(c.notification("notifications/cancelled"));
    c.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":[]})");
    CHECK(c.cancelled.empty());
    c.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0078","reason":"why not"}})");
    CHECK(c.cancelled == std::vector<mcp::server_call_id>{call});
    c.say(c.notification("notifications/cancelled", {{"requestId", "x"}}));
    CHECK(c.cancelled.size() == 1);
    c.take(c.machine.report(call, {1, {}, {}}, c.now));
    c.question(call);
    REQUIRE(c.answered.size() == 1);
    CHECK(c.answered[0].answer.error() == condition::cancelled);
    c.end(call);
    CHECK(c.lines.empty());
    CHECK(c.machine.open_calls() == 0);
}

TEST_CASE("server_machine: the end of the client cancels all and answers nothing") {
    machine_client c;
    c.initialize("2025-11-25", declares_forms());
    auto const first = c.begin(1, {{"name", "echo"}});
    auto const second = c.begin(2, {{"name", "slow"}, {"task", json::object()}});
    auto const third = c.begin(3, {{"name", "echo"}});
    c.question(third);
    c.lines.clear();
    c.take(c.machine.on_end(c.now));
    CHECK(c.cancelled == std::vector<mcp::server_call_id>{first, second, third});
    CHECK(c.answered.size() == 1);
    for (auto const call : c.cancelled) c.end(call);
    c.say(c.request(4, "ping"));
    CHECK(c.lines.empty());
    CHECK(c.machine.open_calls() == 0);
    CHECK(c.machine.open_questions() == 0);
}

TEST_CASE("server_machine: progress goes to those who asked for it, and grows") {
    for (std::string const spoken : {"2024-11-05", "2025-11-25", "2026-07-28"}) {
        CAPTURE(spoken);
        machine_client c;
        bool const modern = spoken == "2026-07-28";
        if (!modern) c.initialize(spoken);
        auto const params = [&](json const& token) {
            json p{{"name", "echo"}};
            if (!token.is_null()) p["_meta"]["progressToken"] = token;
            return modern ? c.modern(p) : p;
        };
        auto const silent = c.begin(1, params(nullptr));
        CHECK_FALSE(c.started.back().reports);
        c.begin(2, params(1.5));
        CHECK_FALSE(c.started.back().reports);
        auto const call = c.begin(3, params("t"));
        CHECK(c.started.back().reports);
        auto const report = [&](mcp::server_call_id which, double done) {
            c.take(c.machine.report(which, {done, 10, "so far"}, c.now));
        };
        report(silent, 1);
        CHECK(c.lines.empty());
        report(call, 1);
        auto const heard = c.heard();
        CHECK(heard["method"] == "notifications/progress");
        CHECK(heard["params"]["progressToken"] == "t");
        CHECK(heard["params"]["progress"] == 1);
        CHECK(heard["params"]["total"] == 10);
        CHECK(heard["params"].contains("message") == (spoken != "2024-11-05"));
        CHECK_FALSE(heard.contains("id"));
        report(call, 1);
        report(call, 0.5);
        report(call, std::numeric_limits<double>::quiet_NaN());
        CHECK(c.lines.empty());
        report(call, 1.5);
        CHECK(c.heard()["params"]["progress"] == 1.5);
        c.end(call);
        c.lines.clear();
        report(call, 9);
        CHECK(c.lines.empty());
    }
}

TEST_CASE("server_machine: a result that is too long becomes an error that says so") {
    auto options = test::machine_options();
    options.limits.max_line_out = 100'000;
    machine_client c(options);
    c.initialize("2025-11-25");
    auto const room = options.limits.max_line_out - mcp::server_results::envelope;
    auto const around = mcp::write_call_result(c.result(""), {}).size();
    c.end(c.begin(1, {{"name", "echo"}}), std::string(room - around, 'x'));
    CHECK(c.heard()["result"]["isError"] == false);
    c.end(c.begin(1, {{"name", "echo"}}), std::string(room - around + 1, 'x'));
    auto const answer = c.heard();
    CHECK(answer["result"]["isError"] == true);
    CHECK(contains(text_of(answer), std::to_string(room + 1) + " bytes"));

    auto const call = c.begin(2, {{"name", "echo"}, {"_meta", {{"progressToken", 1}}}});
    c.take(c.machine.report(call, {1, {}, std::string(100'001, 'm')}, c.now));
    CHECK(c.lines.empty());
}

// --- questions --------------------------------------------------------------------------------------------------------

TEST_CASE("server_machine: who is asked") {
    struct row {
        char const* version;
        char const* capabilities;
        bool asked;
    };
    for (auto const& [spoken, capabilities, asked] :
         {row{"2024-11-05", R"({"elicitation":{}})", false}, row{"2025-03-26", R"({"elicitation":{}})", false},
          row{"2025-06-18", R"({"elicitation":{}})", true}, row{"2025-06-18", "{}", false},
          row{"2025-06-18", R"({"elicitation":true})", false}, row{"2025-11-25", R"({"elicitation":{}})", true},
          row{"2025-11-25", R"({"elicitation":{"form":{}}})", true},
          row{"2025-11-25", R"({"elicitation":{"url":{}}})", false},
          row{"2025-11-25", R"({"elicitation":{"url":{},"form":{}}})", true},
          row{"2026-07-28", R"({"elicitation":{}})", true}, row{"2026-07-28", "{}", false},
          row{"2026-07-28", R"({"sampling":{}})", false}}) {
        CAPTURE(spoken, capabilities);
        machine_client c;
        bool const modern = std::string(spoken) == "2026-07-28";
        auto const declared = json::parse(capabilities);
        if (!modern) c.initialize(spoken, declared);
        json const params{{"name", "echo"}};
        auto const call = c.begin(1, modern ? c.modern(params, declared) : params);
        c.question(call);
        CHECK(c.lines.size() == (asked ? 1 : 0));
        REQUIRE(c.answered.size() == (asked ? 0 : 1));
        if (!asked) CHECK(c.answered[0].answer.error() == errc::mcp_input_required);
    }
}

TEST_CASE("server_machine: a question with a handshake is a request of ours") {
    machine_client c;
    c.initialize("2025-11-25", declares_forms());
    auto const call = c.begin(1, {{"name", "echo"}});
    auto const question = c.question(call, "Really?");
    auto const asked = c.heard();
    CHECK(asked["method"] == "elicitation/create");
    CHECK(asked["id"].is_string());
    CHECK(asked["params"]["mode"] == "form");
    CHECK(asked["params"]["message"] == "Really?");
    CHECK(asked["params"]["requestedSchema"]["type"] == "object");
    auto const answer = [&](json const& what) {
        c.say(json{{"jsonrpc", "2.0"}, {"id", asked["id"]}, {"result", what}}.dump());
    };
    c.say(json{{"jsonrpc", "2.0"}, {"id", "other"}, {"result", {{"action", "accept"}}}}.dump());
    CHECK(c.answered.empty());
    answer({{"action", "accept"}, {"content", {{"x", 1}}}});
    answer({{"action", "decline"}}); // twice
    REQUIRE(c.answered.size() == 1);
    CHECK(c.answered[0].question == question);
    CHECK(c.answered[0].answer->action == mcp::server::elicitation::response::accept);
    CHECK(c.answered[0].answer->content["x"] == 1);
    c.end(call);
    CHECK(text_of(c.heard()) == "done");
}

TEST_CASE("server_machine: answers to questions") {
    struct row {
        char const* result;
        std::optional<mcp::server::elicitation::response> action;
    };
    using action = mcp::server::elicitation::response;
    for (auto const& [text, expected] :
         {row{R"({"action":"accept"})", action::accept}, row{R"({"action":"accept","content":null})", action::accept},
          row{R"({"action":"decline","content":{"x":1}})", action::decline},
          row{R"({"action":"cancel"})", action::cancel}, row{R"({"action":"maybe"})", {}}, row{"{}", {}}, row{"7", {}},
          row{R"({"action":"accept","content":7})", {}}}) {
        CAPTURE(text);
        machine_client c;
        c.initialize("2025-06-18", declares_forms());
        c.question(c.begin(1, {{"name", "echo"}}));
        auto const asked = c.heard();
        CHECK_FALSE(asked["params"].contains("mode"));
        c.say(R"({"jsonrpc":"2.0","id":)" + asked["id"].dump() + R"(,"result":)" + text + "}");
        REQUIRE(c.answered.size() == 1);
        auto const& answer = c.answered[0].answer;
        REQUIRE(answer.has_value() == expected.has_value());
        if (expected) CHECK(answer->action == *expected);
        if (expected) CHECK(answer->content.is_object());
        if (!expected) CHECK(answer.error() == errc::protocol_error);
        if (expected != action::accept && answer) CHECK(answer->content.empty());
    }
    machine_client c;
    c.initialize("2025-06-18", declares_forms());
    c.question(c.begin(1, {{"name", "echo"}}));
    auto const id = c.heard()["id"];
    c.say(json{{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", -1}, {"message", "no user here"}}}}.dump());
    CHECK(c.answered[0].answer.error() == errc::mcp_refused);
    CHECK(contains(c.answered[0].answer.error().text(), "no user here"));
}

TEST_CASE("server_machine: a question of 2026-07-28 ends the request, and the next one goes on with it") {
    machine_client c;
    json const params{{"name", "echo"}, {"arguments", {{"n", 1}}}};
    auto const call = c.begin(1, c.modern(params, declares_forms()));
    auto const first = c.question(call, "first");
    auto const asked = c.heard();
    CHECK(asked["id"] == 1);
    CHECK(asked["result"]["resultType"] == "input_required");
    CHECK(asked["result"]["_meta"].contains("io.modelcontextprotocol/serverInfo"));
    auto const& requests = asked["result"]["inputRequests"];
    REQUIRE(requests.size() == 1);
    auto const key = requests.begin().key();
    CHECK(requests[key]["method"] == "elicitation/create");
    CHECK(requests[key]["params"]["message"] == "first");
    CHECK(requests[key]["params"]["mode"] == "form");
    auto const state = asked["result"]["requestState"].get<std::string>();

    // while the client asks its user: a further question waits, and progress has nowhere to go
    auto const second = c.question(call, "second");
    c.take(c.machine.report(call, {1, {}, {}}, c.now));
    CHECK(c.lines.empty());

    auto const again = [&](json const& responses, json const& with_state, json p) {
        p["inputResponses"] = responses;
        p["requestState"] = with_state;
        return c.modern(p, declares_forms());
    };
    json const yes{{key, {{"action", "accept"}, {"content", {{"x", 1}}}}}, {"unknown", 7}};
    CHECK(code_of(c.ask(c.request(2, "tools/call", again(yes, "forged", params)))) == -32602);
    CHECK(code_of(c.ask(c.request(2, "tools/call", again(yes, 7, params)))) == -32602);
    CHECK(code_of(c.ask(c.request(2, "tools/call", again(yes, state, {{"name", "other"}})))) == -32602);
    CHECK(code_of(c.ask(
              c.request(2, "tools/call", again(yes, state, {{"name", "echo"}, {"arguments", {{"n", 2}}}})))) == -32602);
    CHECK(code_of(c.ask(c.request(2, "tools/call", again({{key, {{"action", 7}}}}, state, params)))) == -32602);
    CHECK(code_of(c.ask(c.request(2, "tools/call", again(json::array(), state, params)))) == -32602);
    CHECK(c.answered.empty());

    c.say(c.request(2, "tools/call", again(yes, state, params)));
    REQUIRE(c.answered.size() == 1);
    CHECK(c.answered[0].question == first);
    CHECK(c.answered[0].answer->content["x"] == 1);
    auto const next = c.heard()["result"];
    CHECK(next["resultType"] == "input_required");
    CHECK(next["inputRequests"].begin().value()["params"]["message"] == "second");
    CHECK(next["requestState"] != state);
    CHECK(code_of(c.ask(c.request(3, "tools/call", again(yes, state, params)))) == -32602); // once only

    // an answer is missing: the question is asked again
    c.say(c.request(3, "tools/call", again(json::object(), next["requestState"], params)));
    auto const repeated = c.heard()["result"];
    CHECK(repeated["inputRequests"] == next["inputRequests"]);
    json const no{{next["inputRequests"].begin().key(), {{"action", "decline"}}}};
    c.say(c.request(4, "tools/call", again(no, repeated["requestState"], params)));
    REQUIRE(c.answered.size() == 2);
    CHECK(c.answered[1].question == second);
    CHECK(c.lines.empty());
    CHECK(c.started.size() == 1);
    c.end(call);
    auto const done = c.heard();
    CHECK(done["id"] == 4);
    CHECK(done["result"]["resultType"] == "complete");
    CHECK(c.machine.open_calls() == 0);
    CHECK(c.machine.open_questions() == 0);
}

TEST_CASE("server_machine: a handler that ends before the client asks again") {
    machine_client c;
    json params{{"name", "echo"}};
    auto const call = c.begin(1, c.modern(params, declares_forms()));
    c.question(call);
    params["requestState"] = c.heard()["result"]["requestState"];
    c.end(call, "early");
    CHECK(c.answered.size() == 1);
    CHECK(c.lines.empty());
    CHECK(text_of(c.ask(c.request(2, "tools/call", c.modern(params, declares_forms())))) == "early");
    CHECK(c.machine.open_calls() == 0);
    CHECK(code_of(c.ask(c.request(3, "tools/call", c.modern(params, declares_forms())))) == -32602);
}

TEST_CASE("server_machine: a call that waits for the client is let go of in time") {
    auto options = test::machine_options();
    options.limits.question_timeout = 100s;
    machine_client c(options);
    json params{{"name", "echo"}};
    auto const call = c.begin(1, c.modern(params, declares_forms()));
    c.question(call);
    params["requestState"] = c.heard()["result"]["requestState"];
    CHECK(c.machine.deadline() == c.now + 100s);
    c.pass(100s - 1ms);
    CHECK(c.cancelled.empty());
    c.pass(1ms);
    REQUIRE(c.answered.size() == 1);
    CHECK(c.answered[0].answer.error() == errc::timed_out);
    CHECK(c.cancelled == std::vector<mcp::server_call_id>{call});
    CHECK(code_of(c.ask(c.request(2, "tools/call", c.modern(params, declares_forms())))) == -32602);
    c.end(call);
    CHECK(c.machine.open_calls() == 0);
    CHECK(c.machine.deadline() == machine_client::clock::time_point::max());
}

TEST_CASE("server_machine: questions that get no answer in time, or are not needed any more, are withdrawn") {
    auto options = test::machine_options();
    options.limits.question_timeout = 100s;
    machine_client c(options);
    c.initialize("2025-11-25", declares_forms());
    auto const call = c.begin(1, {{"name", "echo"}});
    c.question(call);
    auto const late = c.heard()["id"];
    c.pass(100s);
    auto const withdrawn = c.heard();
    CHECK(withdrawn["method"] == "notifications/cancelled");
    CHECK(withdrawn["params"]["requestId"] == late);
    CHECK(c.answered[0].answer.error() == errc::timed_out);
    CHECK(c.cancelled.empty());

    auto const unwanted = c.question(call);
    c.lines.clear();
    c.take(c.machine.withdraw(unwanted, c.now));
    CHECK(c.heard()["method"] == "notifications/cancelled");
    CHECK(c.answered.size() == 1);

    c.question(call);
    c.lines.clear();
    c.end(call); // the question goes first, then the answer
    REQUIRE(c.lines.size() == 2);
    CHECK(contains(c.lines[0], "notifications/cancelled"));
    CHECK(contains(c.lines[1], "done"));
    CHECK(c.answered.size() == 2);
}

TEST_CASE("server_machine: so many open questions, and one more") {
    for (bool const modern : {false, true}) {
        auto options = test::machine_options();
        options.limits.questions = 2;
        machine_client c(options);
        if (!modern) c.initialize("2025-11-25", declares_forms());
        json const params{{"name", "echo"}};
        for (int i = 0; i < 3; ++i) c.question(c.begin(i, modern ? c.modern(params, declares_forms()) : params));
        CHECK(c.machine.open_questions() == 2);
        REQUIRE(c.answered.size() == 1);
        CHECK(c.answered[0].answer.error() == errc::mcp_input_required);
        CHECK(c.lines.size() == 2);
    }
}

TEST_CASE("server_machine: a schema that cannot be written is not asked with") {
    machine_client c;
    c.initialize("2025-11-25", declares_forms());
    auto const call = c.begin(1, {{"name", "echo"}});
    c.take(c.machine.ask(call, "?", nlohmann::ordered_json("\xff"), c.now).second);
    REQUIRE(c.answered.size() == 1);
    CHECK(c.answered[0].answer.error() == errc::invalid_argument);
    c.question(call, "\xff");
    CHECK(c.heard()["params"]["message"] == "\xEF\xBF\xBD");
}
