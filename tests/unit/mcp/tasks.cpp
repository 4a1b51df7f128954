#include <ipybox/mcp/task_state.hpp>
#include <ipybox/mcp/tool_call_machine.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::mcp;
using ipybox::mcp::detail::era;
using ipybox::test::contains;
using nlohmann::json;

tool_call_machine calling_task(era spoken = era::handshake, bool runs_tasks = true) {
    auto made = tool_call_machine::make("t", json{{"a", 1}});
    REQUIRE(made);
    made->need_task();
    session with;
    with.era = spoken;
    with.runs_tasks = runs_tasks;
    made->speak(with);
    return std::move(*made);
}

json asked_by(tool_call_machine const& m) { return json::parse(write_rpc_request(1, m.next_method(), m.params())); }

std::string task_text(std::string_view status, std::string_view more = "") {
    return R"({"taskId":"7","status":")" + std::string(status) + R"(","statusMessage":"so far","pollInterval":100)" +
           std::string(more) + "}";
}

std::string begun_task() { return R"({"task":)" + task_text("working") + "}"; }

constexpr auto worked_result = R"({"content":[{"type":"text","text":"worked"}]})";

} // namespace

TEST_CASE("task_state: what a server says of a task") {
    auto const read = read_task_state(task_text("working"));
    REQUIRE(read);
    CHECK(read->id == "\"7\"");
    CHECK(read->now == task_state::phase::working);
    CHECK(read->message == "so far");
    CHECK(read->pause == 100ms);
    CHECK_FALSE(read->has_ended());
    for (auto const* const status : {"completed", "failed", "cancelled"})
        CHECK(read_task_state(task_text(status))->has_ended());
    CHECK_FALSE(read_task_state(task_text("input_required"))->has_ended());
    for (auto const* const bad : {"[]", "{}", R"({"taskId":"7"})", R"({"taskId":"7","status":"asleep"})",
                                  R"({"status":"working"})", R"({"taskId":null,"status":"working"})"})
        CHECK(read_task_state(bad).error() == errc::protocol_error);
}

TEST_CASE("task_state: the pause that a server wishes for has bounds") {
    auto const pause = [](std::string const& number) {
        return read_task_state(R"({"taskId":"7","status":"working","pollIntervalMs":)" + number + "}")->pause;
    };
    CHECK(pause("50") == shortest_task_pause);
    CHECK(pause("49") == shortest_task_pause);
    CHECK(pause("-1e300") == shortest_task_pause);
    CHECK(pause("30000") == longest_task_pause);
    CHECK(pause("1e300") == longest_task_pause);
    CHECK(pause("null") == usual_task_pause);
    CHECK(pause("\"1\"") == usual_task_pause);
}

TEST_CASE("tool_call_machine: a task of 2025-11-25, from the call to its result") {
    auto m = calling_task();
    CHECK(asked_by(m)["method"] == "tools/call");
    CHECK(asked_by(m)["params"] == json{{"name", "t"}, {"arguments", {{"a", 1}}}, {"task", json::object()}});
    CHECK(m.pause() == 0ms);
    REQUIRE_FALSE(m.on_result(begun_task()));
    CHECK(m.task() == "\"7\"");
    CHECK(asked_by(m)["method"] == "tasks/get");
    CHECK(asked_by(m)["params"] == json{{"taskId", "7"}});
    CHECK(m.pause() == 100ms);
    REQUIRE_FALSE(m.on_result(task_text("working")));
    CHECK(asked_by(m)["method"] == "tasks/get");
    REQUIRE_FALSE(m.on_result(task_text("completed")));
    CHECK(asked_by(m)["method"] == "tasks/result");
    CHECK(m.pause() == 0ms);
    auto const end = m.on_result(worked_result);
    REQUIRE(end);
    CHECK((*end)->text() == "worked");
    CHECK(m.task().empty());
}

TEST_CASE("tool_call_machine: a task of 2025-11-25 that fails, wants input, or is cancelled") {
    for (auto const* const status : {"failed", "input_required"}) {
        auto m = calling_task();
        REQUIRE_FALSE(m.on_result(begun_task()));
        REQUIRE_FALSE(m.on_result(task_text(status)));
        CHECK(m.next_method() == "tasks/result");
    }
    auto m = calling_task();
    REQUIRE_FALSE(m.on_result(begun_task()));
    auto const end = m.on_result(task_text("cancelled"));
    REQUIRE(end);
    CHECK(end->error() == errc::mcp_refused);
    CHECK(end->error().text() == "cancelled the task of the call: so far");
    CHECK(m.task().empty());
}

TEST_CASE("tool_call_machine: a server without tasks is not asked for one, and one may answer at once") {
    auto m = calling_task(era::handshake, false);
    CHECK_FALSE(asked_by(m)["params"].contains("task"));
    CHECK((**m.on_result(worked_result)).text() == "worked");
    auto asked = calling_task();
    CHECK((**asked.on_result(worked_result)).text() == "worked");
    auto plain = tool_call_machine::make("t", json::object());
    session with;
    with.runs_tasks = true;
    plain->speak(with);
    CHECK_FALSE(asked_by(*plain)["params"].contains("task"));
}

TEST_CASE("tool_call_machine: a task of 2026-07-28 has its result in it") {
    auto m = calling_task(era::stateless, false);
    CHECK_FALSE(asked_by(m)["params"].contains("task"));
    REQUIRE_FALSE(m.on_result(R"({"resultType":"task","taskId":"7","status":"working"})", era::stateless));
    CHECK(m.next_method() == "tasks/get");
    CHECK(m.pause() == usual_task_pause);
    REQUIRE_FALSE(m.on_result(task_text("working", R"(,"resultType":"complete")"), era::stateless));
    auto const end = m.on_result(task_text("completed", R"(,"result":)" + std::string(worked_result)), era::stateless);
    REQUIRE(end);
    CHECK((*end)->text() == "worked");
    CHECK(m.task().empty());
}

TEST_CASE("tool_call_machine: a task of 2026-07-28 that does not come to a result") {
    auto const outcome = [](std::string const& state) {
        auto m = calling_task(era::stateless);
        REQUIRE_FALSE(m.on_result(R"({"resultType":"task","taskId":"7","status":"working"})", era::stateless));
        auto const end = m.on_result(state, era::stateless);
        REQUIRE(end);
        REQUIRE_FALSE(*end);
        return std::pair(end->error(), m.task());
    };
    auto const [failed, of_failed] = outcome(task_text("failed", R"(,"error":{"code":-32603,"message":"no disk"})"));
    CHECK(failed == errc::mcp_refused);
    CHECK(failed.text() == "failed in the task of the call: no disk");
    CHECK(of_failed.empty());
    auto const [asks, of_asking] = outcome(task_text("input_required", R"(,"inputRequests":{})"));
    CHECK(asks == errc::mcp_input_required);
    CHECK(of_asking == "\"7\""); // it has not ended: the server is to be told
    CHECK(outcome(task_text("completed")).first == errc::protocol_error);
    CHECK(outcome(task_text("cancelled")).first == errc::mcp_refused);
    CHECK(outcome("{}").first == errc::protocol_error);
}
