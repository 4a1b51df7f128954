#include <support/machine_client.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::test::machine_names;

/// A task of 2025-11-25, and the call that it stands for.
std::pair<json, mcp::server_call_id> legacy_task(machine_client& c, json task = json::object()) {
    json const params{{"name", "slow"}, {"task", std::move(task)}, {"_meta", {{"progressToken", "t"}}}};
    auto const call = c.begin("call", params);
    return {c.heard()["result"]["task"], call};
}

/// One of 2026-07-28.
std::pair<json, mcp::server_call_id> modern_task(machine_client& c) {
    auto const call = c.begin("call", c.modern({{"name", "slow"}}, declares_tasks()));
    c.pass(c.options.tools[1].task_after);
    return {c.heard()["result"], call};
}

json of_task(json const& task) { return {{"taskId", task["taskId"]}}; }

} // namespace

TEST_CASE("server_tasks: 2025-11-25: a call as a task") {
    machine_client c;
    c.initialize("2025-11-25");
    auto const [task, call] = legacy_task(c, {{"ttl", 60'000}});
    CHECK(task["status"] == "working");
    CHECK(task["ttl"] == 60'000);
    CHECK(task["createdAt"] == "1970-01-02T00:00:00Z");
    CHECK(task["pollInterval"].is_number_unsigned());

    // the id of its request is free, and cannot cancel it
    c.say(c.notification("notifications/cancelled", {{"requestId", "call"}}));
    CHECK(c.cancelled.empty());
    c.now += 3s;
    c.take(c.machine.report(call, {1, 2, "half of it"}, c.now));
    auto const progress = c.heard()["params"];
    CHECK(progress["progressToken"] == "t");
    CHECK(progress["_meta"]["io.modelcontextprotocol/related-task"]["taskId"] == task["taskId"]);
    auto const got = c.ask(c.request(1, "tasks/get", of_task(task)))["result"];
    CHECK(got["status"] == "working");
    CHECK(got["statusMessage"] == "half of it");
    CHECK(got["lastUpdatedAt"] == "1970-01-02T00:00:03Z");

    // the result waits for the end
    c.say(c.request("r", "tasks/result", of_task(task)));
    c.say(c.request("gives up", "tasks/result", of_task(task)));
    c.say(c.notification("notifications/cancelled", {{"requestId", "gives up"}}));
    CHECK(c.lines.empty());
    CHECK(c.cancelled.empty());
    c.end(call);
    auto const result = c.heard();
    CHECK(result["id"] == "r");
    CHECK(text_of(result) == "done");
    CHECK(result["result"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"] == task["taskId"]);
    CHECK(text_of(c.ask(c.request(2, "tasks/result", of_task(task)))) == "done");
    CHECK(c.ask(c.request(3, "tasks/get", of_task(task)))["result"]["status"] == "completed");
    auto const list = c.ask(c.request(4, "tasks/list"))["result"]["tasks"];
    REQUIRE(list.size() == 1);
    CHECK(list[0]["taskId"] == task["taskId"]);
    CHECK(code_of(c.ask(c.request(5, "tasks/list", {{"cursor", "x"}}))) == -32602);
    CHECK(code_of(c.ask(c.request(6, "tasks/cancel", of_task(task)))) == -32602);
    CHECK(c.machine.open_calls() == 0);
}

TEST_CASE("server_tasks: 2025-11-25: a failed and a cancelled one") {
    machine_client c;
    c.initialize("2025-11-25");
    auto const [failing, first] = legacy_task(c);
    auto r = c.result("no");
    r.is_error = true;
    c.take(c.machine.on_result(first, r, c.now));
    CHECK(c.ask(c.request(1, "tasks/get", of_task(failing)))["result"]["status"] == "failed");
    CHECK(c.ask(c.request(2, "tasks/result", of_task(failing)))["result"]["isError"] == true);

    auto const [task, call] = legacy_task(c);
    c.say(c.request("r", "tasks/result", of_task(task)));
    c.say(c.request("c", "tasks/cancel", of_task(task)));
    REQUIRE(c.lines.size() == 2);
    CHECK(code_of(json::parse(c.lines[0])) == -32602); // the result that is no more
    CHECK(json::parse(c.lines[1])["result"]["status"] == "cancelled");
    c.lines.clear();
    CHECK(c.cancelled == std::vector<mcp::server_call_id>{call});
    c.end(call);
    CHECK(c.ask(c.request(3, "tasks/get", of_task(task)))["result"]["status"] == "cancelled");
    CHECK(code_of(c.ask(c.request(4, "tasks/result", of_task(task)))) == -32602);
}

TEST_CASE("server_tasks: 2025-11-25: a question of a task") {
    machine_client c;
    c.initialize("2025-11-25", declares_forms());
    auto const [task, call] = legacy_task(c);
    c.question(call);
    auto const asked = c.heard();
    CHECK(asked["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"] == task["taskId"]);
    CHECK(c.ask(c.request(1, "tasks/get", of_task(task)))["result"]["status"] == "input_required");
    c.say(json{{"jsonrpc", "2.0"}, {"id", asked["id"]}, {"result", {{"action", "decline"}}}}.dump());
    REQUIRE(c.answered.size() == 1);
    CHECK(c.ask(c.request(2, "tasks/get", of_task(task)))["result"]["status"] == "working");
}

TEST_CASE("server_tasks: 2026-07-28: a call that takes long becomes one") {
    machine_client c;
    auto const quick = c.begin(1, c.modern({{"name", "slow"}}, declares_tasks()));
    c.pass(c.options.tools[1].task_after - 1ms);
    c.end(quick);
    CHECK(text_of(c.heard()) == "done");

    auto const [task, call] = modern_task(c);
    CHECK(task["resultType"] == "task");
    CHECK(task["status"] == "working");
    CHECK(task["ttlMs"] == 3'600'000);
    CHECK(task["pollIntervalMs"].is_number_unsigned());
    auto const ask = [&](std::string const& method, json params = json::object()) {
        params["taskId"] = task["taskId"];
        return c.ask(c.request("q", method, c.modern(params, declares_tasks())));
    };
    c.take(c.machine.report(call, {1, {}, "half of it"}, c.now));
    CHECK(c.lines.empty());
    auto const got = ask("tasks/get")["result"];
    CHECK(got["resultType"] == "complete");
    CHECK(got["statusMessage"] == "half of it");
    CHECK(got["_meta"].contains("io.modelcontextprotocol/serverInfo"));

    auto const question = c.question(call);
    CHECK(c.lines.empty());
    auto const asking = ask("tasks/get")["result"];
    CHECK(asking["status"] == "input_required");
    auto const key = asking["inputRequests"].begin().key();
    CHECK(code_of(ask("tasks/update", {{"inputResponses", {{key, 7}}}})) == -32602);
    CHECK(ask("tasks/update", {{"inputResponses", {{"other", 7}}}})["result"]["resultType"] == "complete");
    CHECK(c.answered.empty());
    auto const updated = ask("tasks/update", {{"inputResponses", {{key, {{"action", "accept"}}}}}});
    CHECK(updated["result"]["resultType"] == "complete");
    REQUIRE(c.answered.size() == 1);
    CHECK(c.answered[0].question == question);
    CHECK(ask("tasks/get")["result"]["status"] == "working");

    auto r = c.result("failed as tools do");
    r.is_error = true;
    c.take(c.machine.on_result(call, r, c.now));
    auto const done = ask("tasks/get")["result"];
    CHECK(done["status"] == "completed");
    CHECK(done["result"]["isError"] == true);
    CHECK(done["result"]["resultType"] == "complete"); // as every result; the protocol's package wants it
    CHECK(done["result"]["content"][0]["text"] == "failed as tools do");
    CHECK(ask("tasks/cancel")["result"]["resultType"] == "complete");
    CHECK(c.cancelled.empty());
}

TEST_CASE("server_tasks: 2026-07-28: cancelled, and only for clients that declare tasks") {
    machine_client c;
    auto const [task, call] = modern_task(c);
    for (auto const* const method : {"tasks/get", "tasks/update", "tasks/cancel"}) {
        auto const refused = c.ask(c.request(1, method, c.modern(of_task(task), declares_forms())));
        CHECK(code_of(refused) == -32021);
        CHECK(refused["error"]["data"]["requiredCapabilities"]["extensions"].contains("io.modelcontextprotocol/tasks"));
        CHECK(code_of(c.ask(c.request(2, method, c.modern({{"taskId", "x"}}, declares_tasks())))) == -32602);
        CHECK(code_of(c.ask(c.request(2, method, c.modern({}, declares_tasks())))) == -32602);
    }
    CHECK(c.ask(c.request(3, "tasks/cancel", c.modern(of_task(task), declares_tasks()))).contains("result"));
    CHECK(c.cancelled == std::vector<mcp::server_call_id>{call});
    CHECK(c.ask(c.request(4, "tasks/get", c.modern(of_task(task), declares_tasks())))["result"]["status"] ==
          "cancelled");
    c.initialize("2025-11-25");
    CHECK(code_of(c.ask(c.request(5, "tasks/get", of_task(task)))) == -32602); // it is not of that era

    c.begin(6, c.modern({{"name", "slow"}}));
    c.pass(1h);
    CHECK(c.lines.empty()); // no task for a client that takes none
    c.begin(7, c.modern({{"name", "echo"}}, declares_tasks()));
    c.pass(1h);
    CHECK(c.lines.empty()); // nor of a tool that has none
}

TEST_CASE("server_tasks: a question before the task is answered by asking again") {
    machine_client c;
    json params{{"name", "slow"}};
    auto const call = c.begin(1, c.modern(params, declares_tasks()));
    c.question(call);
    auto const asked = c.heard()["result"];
    CHECK(asked["resultType"] == "input_required");
    c.pass(c.options.tools[1].task_after);
    CHECK(c.lines.empty());
    params["requestState"] = asked["requestState"];
    params["inputResponses"] = {{asked["inputRequests"].begin().key(), {{"action", "accept"}}}};
    c.say(c.request(2, "tools/call", c.modern(params, declares_tasks())));
    CHECK(c.answered.size() == 1);
    c.pass(c.options.tools[1].task_after);
    CHECK(c.heard()["result"]["resultType"] == "task");
}

TEST_CASE("server_tasks: their time may pass after the client has gone") {
    machine_client c;
    c.initialize("2025-11-25");
    auto const [task, call] = legacy_task(c, {{"ttl", 1000}});
    auto const [other, slow] = legacy_task(c, {{"ttl", 1000}});
    c.say(c.request("result", "tasks/result", of_task(task)));
    c.take(c.machine.on_end(c.now));
    CHECK(c.cancelled.size() == 2);
    CHECK(code_of(c.heard()) == -32602); // the request for a result is answered: its task is cancelled
    c.end(call);
    c.pass(2s);
    CHECK(c.machine.kept_tasks() == 0);
    c.end(slow); // one handler takes longer than the life of its task
    CHECK(c.machine.open_calls() == 0);
}

TEST_CASE("server_tasks: so many are kept, and so long") {
    auto options = test::machine_options();
    options.limits.tasks = 2;
    options.limits.task_lifetime = 100s;
    machine_client c(options);
    c.initialize("2025-11-25");
    auto const [first, first_call] = legacy_task(c);
    auto const [second, second_call] = legacy_task(c, {{"ttl", 10'000'000}});
    CHECK(second["ttl"] == 100'000);
    auto const full = c.ask(c.request(1, "tools/call", {{"name", "slow"}, {"task", json::object()}}));
    CHECK(code_of(full) == -32603);
    c.end(second_call);
    auto const [third, third_call] =
        legacy_task(c, {{"ttl", 0}}); // a second at least, in the place of the one that has ended
    CHECK(code_of(c.ask(c.request(2, "tasks/get", of_task(second)))) == -32602);
    CHECK(c.machine.kept_tasks() == 2);

    c.say(c.request("r", "tasks/result", of_task(third)));
    c.pass(1s);
    CHECK(code_of(c.heard()) == -32602);
    CHECK(c.cancelled == std::vector<mcp::server_call_id>{third_call});
    CHECK(c.machine.kept_tasks() == 1);
    c.pass(99s);
    CHECK(c.cancelled == std::vector<mcp::server_call_id>{third_call, first_call});
    CHECK(code_of(c.ask(c.request(3, "tasks/get", of_task(first)))) == -32602);
    CHECK(c.machine.kept_tasks() == 0);
}

TEST_CASE("server_tasks: without room a call stays a call") {
    auto options = test::machine_options();
    options.limits.tasks = 1;
    machine_client c(options);
    modern_task(c);
    auto const call = c.begin(2, c.modern({{"name", "slow"}}, declares_tasks()));
    c.pass(c.options.tools[1].task_after);
    CHECK(c.lines.empty());
    c.end(call);
    CHECK(text_of(c.heard()) == "done");
}

TEST_CASE("server_tasks: a result that is too long for a line") {
    auto options = test::machine_options();
    options.limits.max_line_out = 20'000;
    machine_client c(options);
    c.initialize("2025-11-25");
    auto const [task, call] = legacy_task(c);
    c.end(call, std::string(20'000, 'x'));
    auto const result = c.ask(c.request(1, "tasks/result", of_task(task)));
    CHECK(result["result"]["isError"] == true);
    CHECK(contains(text_of(result), "at most"));
}

TEST_CASE("server_tasks: requests for a result have a bound") {
    auto options = test::machine_options();
    options.limits.calls = 2;
    machine_client c(options);
    c.initialize("2025-11-25");
    auto const [task, call] = legacy_task(c);
    c.say(c.request(1, "tasks/result", of_task(task)));
    c.say(c.request(2, "tasks/result", of_task(task)));
    CHECK(code_of(c.ask(c.request(3, "tasks/result", of_task(task)))) == -32603);
    c.end(call);
    CHECK(c.lines.size() == 2);
}

TEST_CASE("server_tasks: none where no tool has them") {
    auto options = test::machine_options();
    options.tools[1].tasks = mcp::server::tool::task_support::forbidden;
    machine_client c(options);
    CHECK_FALSE(c.initialize("2025-11-25")["result"]["capabilities"].contains("tasks"));
    CHECK(code_of(c.ask(c.request(1, "tasks/list"))) == -32601);
    CHECK(code_of(c.ask(c.request(1, "tasks/get", c.modern({}, declares_tasks())))) == -32601);
    c.begin(2, {{"name", "slow"}, {"task", json::object()}}); // served as every call
    CHECK(c.lines.empty());
}
