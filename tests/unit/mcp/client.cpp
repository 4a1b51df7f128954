#include <ipybox/mcp/client.hpp>
#include <ipybox/mcp/tool_call_machine.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/coroutines.hpp>
#include <support/one_server.hpp>
#include <support/turns.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::mcp;
using namespace std::chrono_literals;
using nlohmann::json;
using test::contains;
using test::good;
using test::good_stateless;
using test::initialized;
using test::lines;
using test::one_server;
using test::refusal_line;
using test::result_line;
using test::run;
using test::scripted_server;
using test::text_result;

} // namespace

TEST_CASE_METHOD(one_server, "client: starts the server with the first request, and once") {
    (void)client();
    context.run();
    CHECK(server->lives == 0);
    CHECK(echo("a") == "a");
    CHECK(echo("b") == "b");
    CHECK(server->lives == 1);
    CHECK(server->methods() == lines{"initialize", "notifications/initialized", "tools/call", "tools/call"});
    CHECK_FALSE(server->heard[2]["params"].contains("_meta"));
    auto const session = run(context, client().current_session());
    REQUIRE(session);
    CHECK(session->version == "2025-11-25");
    CHECK(client().name() == "srv");
}

TEST_CASE_METHOD(one_server, "client: several requests wait for one start, and get their own answers in any order") {
    std::vector<json> held;
    server->answer = [&](json const& message) -> lines {
        if (message.value("method", "") != "tools/call") return good(message);
        held.push_back(message);
        if (held.size() < 3) return {};
        lines all;
        for (auto i = held.rbegin(); i != held.rend(); ++i) all.push_back(good(*i)[0]);
        return all;
    };
    auto const a = begin("a");
    auto const b = begin("b");
    auto const c = begin("c");
    REQUIRE(until([&] { return a->outcome && b->outcome && c->outcome; }));
    CHECK(said(*a->outcome) == "a");
    CHECK(said(*b->outcome) == "b");
    CHECK(said(*c->outcome) == "c");
    CHECK(server->lives == 1);
}

TEST_CASE_METHOD(one_server, "client: other handlers run while a large result is read") {
    std::string const text(16'000'000, 'x');
    REQUIRE(echo("small") == "small");
    server->answer = [](json const&) { return lines(); };
    auto const asked = begin("x");
    REQUIRE(until([&] { return server->heard.size() == 4; }));
    auto answer = R"({"jsonrpc":"2.0","id":)" + server->heard.back()["id"].dump();
    answer += R"(,"result":{"content":[{"type":"text","text":")" + text + R"("}]}})";
    test::turns each(context);
    server->say(std::move(answer));
    REQUIRE(each.until([&] { return asked->outcome.has_value(); }));
    CHECK(each.longest_part() < 0.25);
    CHECK((said(*asked->outcome) == text));
}

TEST_CASE_METHOD(one_server, "client: large arguments arrive whole") {
    std::string const text(5'000'000, 'x');
    CHECK((echo(text) == text));
    CHECK(echo("next") == "next");
}

TEST_CASE_METHOD(one_server, "client: large arguments that are given up on their way are not sent") {
    REQUIRE(echo("small") == "small");
    auto const before = server->heard.size();
    auto const given_up = begin(std::string(30'000'000, 'x'));
    context.restart();
    for (int i = 0; i < 8; ++i) context.run_one(); // they are being put together
    given_up->cancel.emit(asio::cancellation_type::terminal);
    REQUIRE(until([&] { return given_up->outcome.has_value(); }));
    CHECK(said(*given_up->outcome) == "<" + make_error_code(errc::cancelled).message() + ">");
    CHECK(echo("next") == "next");
    CHECK(server->heard.size() == before + 1);
}

TEST_CASE_METHOD(one_server, "client: the end of a server while a large result is read") {
    auto const rest = R"(,"result":{"content":[{"type":"text","text":")" + std::string(16'000'000, 'x') + R"("}]}})";
    REQUIRE(echo("small") == "small");
    server->answer = [&](json const& message) {
        return lines{R"({"jsonrpc":"2.0","id":)" + message["id"].dump() + rest};
    };
    auto const asked = begin("x");
    REQUIRE(until([&] { return server->heard.size() == 4; }));
    run(context, client().stop());
    REQUIRE(until([&] { return asked->outcome.has_value(); }));
    CHECK(asked->completions == 1);
}

TEST_CASE_METHOD(one_server, "client: a server of the stateless era") {
    server->answer = good_stateless;
    CHECK(echo("a") == "a");
    CHECK(server->methods() == lines{"initialize", "server/discover", "tools/call"});
    auto const& meta = server->heard.back()["params"]["_meta"];
    CHECK(meta["io.modelcontextprotocol/clientCapabilities"] ==
          json{{"extensions", {{"io.modelcontextprotocol/tasks", json::object()}}}});
    CHECK(run(context, client().current_session())->era == ipybox::mcp::detail::era::stateless);

    // What was learned is kept: its next life is not asked to initialize.
    run(context, client().stop());
    server->heard.clear();
    CHECK(echo("b") == "b");
    CHECK(server->methods() == lines{"server/discover", "tools/call"});
}

TEST_CASE_METHOD(one_server, "client: asks for subscriptions where somebody wants to know of changes") {
    server->answer = good_stateless;
    int changes = 0;
    surroundings.on_tools_changed = [&] { ++changes; };
    CHECK(echo("a") == "a");
    CHECK(server->methods() == lines{"initialize", "server/discover", "subscriptions/listen", "tools/call"});
    CHECK(server->heard[2]["params"]["notifications"] == json{{"toolsListChanged", true}});
    server->say(
        R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3}}})");
    CHECK(until([&] { return changes == 1; }));
}

TEST_CASE_METHOD(one_server, "client: lists tools, all pages") {
    server->answer = [](json const& message) -> lines {
        if (message.value("method", "") != "tools/list") return good(message);
        auto const cursor = message["params"].value("cursor", "none");
        if (cursor == "none") return {result_line(message, {{"tools", {{{"name", "a"}}}}, {"nextCursor", ""}})};
        return {result_line(message, {{"tools", {{{"name", "b"}}}}})};
    };
    auto const tools = run(context, client().list_tools());
    REQUIRE(tools);
    REQUIRE(tools->size() == 2);
    CHECK((*tools)[1].name == "b");
}

TEST_CASE_METHOD(one_server,
                 "client: errors name the server, and what the host alone should see stands behind the first line") {
    server->answer = [](json const& message) -> lines {
        if (message.value("method", "") == "tools/call")
            return {refusal_line(message, {{"code", -32602}, {"message", "Unknown tool: echo"}})};
        return good(message);
    };
    auto const refused = failure_of();
    CHECK(refused == errc::mcp_refused);
    CHECK(refused.text() == "the MCP server 'srv' refused `tools/call`: Unknown tool: echo (-32602)");

    server->cannot_start = error(errc::mcp_start_failed, "cannot be started\n/secret/path: no such program");
    run(context, client().stop());
    auto const absent = failure_of();
    CHECK(absent == errc::mcp_start_failed);
    CHECK(absent.text().substr(0, absent.text().find('\n')) == "the MCP server 'srv' cannot be started");
}

TEST_CASE_METHOD(one_server, "client: upon a probe it may die, stay silent or refuse") {
    params.versions = server_params::negotiation::discover_first;
    bool dies = true;
    server->answer = [&](json const& message) -> lines {
        if (message.value("method", "") != "server/discover") return good(message);
        if (dies) server->die();
        return {refusal_line(message, {{"code", -32601}, {"message", "no"}})};
    };
    SECTION("dies") {
        CHECK(echo("a") == "a");
        CHECK(server->lives == 2);
        server->die();
        server->heard.clear();
        REQUIRE(until([&] { return server->closed == 2; }));
        CHECK(echo("b") == "b");
        CHECK(server->methods().front() == "initialize"); // learned
    }
    SECTION("refuses") {
        dies = false;
        CHECK(echo("a") == "a");
        CHECK(server->lives == 1);
    }
}

TEST_CASE_METHOD(one_server, "client: a server that never begins to talk") {
    params.connect_timeout = 30ms;
    server->answer = [](json const&) { return lines(); };
    auto const why = failure_of();
    CHECK(why == errc::mcp_unresponsive);
    CHECK(why == condition::timeout);
    CHECK(contains(why.text(),
                   "did not begin to talk within 30 ms (connect_timeout); it said: a secret\nit said:\na secret"));
    CHECK(server->methods() == lines{"initialize"}); // which must not be cancelled
    CHECK(server->closed == 1);
}

TEST_CASE_METHOD(one_server, "client: the budget of a call, while it starts and while it works") {
    bool starts = false;
    server->answer = [&](json const& message) -> lines {
        if (!starts || message.value("method", "") == "tools/call") return {};
        return good(message);
    };
    CHECK(failure_of("x", {.timeout = 20ms}) == errc::timed_out);
    CHECK(server->methods() == lines{"initialize"});
    // It still starts for the next.
    starts = true;
    server->say(good(server->heard[0])[0]);
    CHECK(failure_of("x", {.timeout = 20ms}) == errc::timed_out);
    CHECK(server->lives == 1);
    CHECK(server->methods() ==
          lines{"initialize", "notifications/initialized", "tools/call", "notifications/cancelled"});
    CHECK(server->heard[3]["params"]["requestId"] == server->heard[2]["id"]);
}

TEST_CASE_METHOD(one_server, "client: the server's own bound counts where a call names none") {
    params.call_timeout = 20ms;
    server->answer = [](json const& message) {
        return message.value("method", "") == "tools/call" ? lines() : good(message);
    };
    CHECK(failure_of() == errc::timed_out);
}

TEST_CASE_METHOD(one_server, "client: deadlines in any order, and one that is not reached") {
    server->answer = [&](json const& message) -> lines {
        auto const text = message["params"].value("arguments", json::object()).value("text", "");
        return text == "never" ? lines() : good(message);
    };
    CHECK(echo("a", {.timeout = 10s}) == "a");
    CHECK(echo("a", {.timeout = std::chrono::milliseconds::max()}) == "a"); // no clock counts so far
    auto const late = begin("never", {.timeout = 60ms});
    auto const early = begin("never", {.timeout = 20ms});
    REQUIRE(until([&] { return early->outcome.has_value(); }));
    CHECK_FALSE(late->outcome);
    REQUIRE(until([&] { return late->outcome.has_value(); }));
    CHECK(late->outcome->error() == errc::timed_out);
}

TEST_CASE_METHOD(one_server, "client: cancelled before the server is ready") {
    server->answer = [](json const&) { return lines(); };
    auto const p = begin("a");
    REQUIRE(until([&] { return server->heard.size() == 1; }));
    p->cancel.emit(asio::cancellation_type::terminal);
    REQUIRE(until([&] { return p->outcome.has_value(); }));
    CHECK(p->outcome->error() == condition::cancelled);
    CHECK(server->methods() == lines{"initialize"});
}

TEST_CASE_METHOD(one_server, "client: cancelled while the server works: its late answer is dropped") {
    server->answer = [](json const& message) {
        return message.value("method", "") == "tools/call" ? lines() : good(message);
    };
    auto const p = begin("a");
    REQUIRE(until([&] { return server->heard.size() == 3; }));
    p->cancel.emit(asio::cancellation_type::terminal);
    REQUIRE(until([&] { return p->outcome.has_value(); }));
    CHECK(p->outcome->error() == errc::cancelled);
    CHECK(server->methods().back() == "notifications/cancelled");
    CHECK(server->heard.back()["params"]["requestId"] == server->heard[2]["id"]);
    server->say(good(server->heard[2])[0]);
    server->answer = good;
    CHECK(echo("b") == "b");
    CHECK(p->completions == 1);
    p->cancel.emit(asio::cancellation_type::terminal); // finds nothing
    CHECK(echo("c") == "c");
}

TEST_CASE_METHOD(one_server, "client: progress comes before the result, and only where it is wanted") {
    server->answer = [](json const& message) -> lines {
        if (message.value("method", "") != "tools/call") return good(message);
        auto const token = message["params"].value("_meta", json::object()).value("progressToken", json(999));
        json const report{{"jsonrpc", "2.0"},
                          {"method", "notifications/progress"},
                          {"params", {{"progressToken", token}, {"progress", 1}, {"total", 2}}}};
        return {report.dump(), good(message)[0]};
    };
    CHECK(echo("quiet") == "quiet");
    std::vector<double> seen;
    call_options options;
    options.on_progress = [&](call_options::progress const& p) { seen.push_back(p.done / p.total.value_or(1)); };
    auto const p = begin("a", options);
    REQUIRE(until([&] { return p->outcome.has_value(); }));
    CHECK(seen == std::vector<double>{0.5});
}

TEST_CASE_METHOD(one_server, "client: answers and refuses what the server asks, and passes noise over") {
    CHECK(echo("a") == "a");
    for (auto const* const noise : {"Listening on stdio", "{}", "", "[1", R"({"level":"info","id":3,"result":1})"})
        server->say(noise);
    server->say(R"({"jsonrpc":"2.0","id":"p","method":"ping"})");
    server->say(
        R"([{"jsonrpc":"2.0","id":"r","method":"roots/list"},{"jsonrpc":"2.0","method":"notifications/message"}])");
    server->heard.clear();
    REQUIRE(until([&] { return server->heard.size() == 2; }));
    CHECK(server->heard[0] == json::parse(R"({"jsonrpc":"2.0","id":"p","result":{}})"));
    CHECK(server->heard[1]["error"]["code"] == -32601);
    CHECK(echo("b") == "b");
}

TEST_CASE_METHOD(one_server, "client: more rounds where the server hands its state over") {
    server->answer = [](json const& message) -> lines {
        if (message.value("method", "") != "tools/call") return good_stateless(message);
        auto const state = message["params"].value("requestState", "");
        if (state == "xx") return {result_line(message, text_result(state))};
        return {result_line(message, {{"resultType", "input_required"}, {"requestState", state + "x"}})};
    };
    CHECK(echo("a") == "xx");
    CHECK(server->heard.size() == 5);
    CHECK(server->heard[2]["id"] != server->heard[3]["id"]);
}

TEST_CASE_METHOD(one_server, "client: progress comes before the result, also for a caller on another context") {
    server->answer = [](json const& message) -> lines {
        if (message.value("method", "") != "tools/call") return good(message);
        auto const token = message["params"]["_meta"]["progressToken"];
        json const report{{"jsonrpc", "2.0"},
                          {"method", "notifications/progress"},
                          {"params", {{"progressToken", token}, {"progress", 1}}}};
        return {report.dump(), good(message)[0]};
    };
    asio::io_context callers;
    int seen = 0;
    std::optional<int> seen_before;
    call_options options;
    options.on_progress = [&](call_options::progress const&) { ++seen; };
    asio::co_spawn(callers, client().call("echo", {{"text", "a"}}, options),
                   [&](std::exception_ptr, result<call_result> const&) { seen_before = seen; });
    auto const deadline = std::chrono::steady_clock::now() + 20s;
    while (!seen_before && std::chrono::steady_clock::now() < deadline) {
        callers.restart();
        callers.poll();
        context.restart();
        context.poll_one();
    }
    CHECK(seen_before == 1);
}

TEST_CASE_METHOD(one_server, "client: a call of a listed tool has one budget, with the list") {
    server->answer = [](json const&) { return lines(); };
    params.connect_timeout = 60s;
    auto const r = run(context, client().call_listed("echo", *raw_json::of(json::object()), {.timeout = 50ms}));
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::timed_out);
}

TEST_CASE("client: a call that cannot be sent, for want of memory, say, fails alone, whether its server runs or starts "
          "for it") {
    /// Copying it fails, as it does where memory is short.
    struct throws_when_copied {
        explicit throws_when_copied(std::shared_ptr<bool> a) : armed(std::move(a)) {}
        throws_when_copied(throws_when_copied const& other) : armed(other.armed) {
            if (*armed) throw std::runtime_error("no memory, say");
        }
        throws_when_copied(throws_when_copied&&) noexcept = default;
        throws_when_copied& operator=(throws_when_copied const&) = delete;
        throws_when_copied& operator=(throws_when_copied&&) = delete;
        ~throws_when_copied() = default;
        void operator()(call_options::progress const&) const {}
        std::shared_ptr<bool> armed;
    };
    one_server f;
    auto const armed = std::make_shared<bool>(false);
    f.server->answer = [&](json const& message) {
        if (message.value("method", "") == "initialize") *armed = true;
        return good(message);
    };
    for (bool const runs : {false, true}) {
        CAPTURE(runs);
        *armed = false;
        call_options options;
        options.on_progress = throws_when_copied(armed);
        auto const first = f.begin("first", std::move(options));
        auto const second = f.begin("second");
        *armed = runs;
        REQUIRE(f.until([&] { return first->outcome && second->outcome; }));
        CHECK(first->completions == 1);
        REQUIRE_FALSE(*first->outcome);
        CHECK(first->outcome->error() == errc::io_error);
        CHECK(contains(first->outcome->error().text(), "cannot be asked: no memory, say"));
        CHECK(one_server::said(*second->outcome) == "second");
    }
    CHECK(f.server->lives == 1);
}

TEST_CASE_METHOD(one_server, "client: callbacks of the application that throw fail what needs them, and nothing else") {
    auto const channels = surroundings.make_channel;
    params.command = "p";
    params.args = {};
    params.env = {{"A", "${NAME}"}};
    struct unknown {};
    surroundings.make_channel = [](auto&&...) -> result<std::shared_ptr<channel>> { throw unknown(); };
    surroundings.variables = [](auto const&) -> std::optional<std::string> { return "v"; };
    auto why = failure_of();
    CHECK(why == errc::invalid_argument);
    CHECK(why.text() == "the MCP server 'srv' cannot be reached: make_channel threw: an exception of an unknown type");
    CHECK(failure_of() == errc::invalid_argument); // and so each time: none waits for the one before

    let_go();
    surroundings.make_channel = [](auto&&...) -> result<std::shared_ptr<channel>> { return nullptr; };
    CHECK(contains(failure_of().text(), "make_channel returned no channel"));

    let_go();
    surroundings.make_channel = channels;
    surroundings.variables = [](auto const&) -> std::optional<std::string> { throw std::runtime_error("no vault"); };
    why = failure_of();
    CHECK(why == errc::invalid_argument);
    CHECK(contains(why.text(), "the look-up of variables threw: no vault"));
    CHECK(server->lives == 0);

    let_go();
    surroundings.variables = [](auto const&) -> std::optional<std::string> { return "v"; };
    int told = 0;
    surroundings.on_tools_changed = [&] {
        ++told;
        throw unknown();
    };
    server->answer = [](json const& message) -> lines {
        if (message.value("method", "") != "tools/call") return good(message);
        auto const token = message["params"].value("_meta", json::object()).value("progressToken", json(999));
        json const report{{"jsonrpc", "2.0"},
                          {"method", "notifications/progress"},
                          {"params", {{"progressToken", token}, {"progress", 1}}}};
        json const changed{{"jsonrpc", "2.0"}, {"method", "notifications/tools/list_changed"}};
        return {report.dump(), changed.dump(), good(message)[0]};
    };
    call_options options;
    options.on_progress = [&](call_options::progress const&) {
        ++told;
        throw std::runtime_error("application bug");
    };
    CHECK(echo("a", options) == "a");
    CHECK(told == 2);
    CHECK(echo("b") == "b");
}

TEST_CASE_METHOD(one_server, "client: what is no object cannot be an argument") {
    auto const r = run(context, client().call("echo", json::array()));
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::invalid_argument);
    CHECK(server->lives == 0);
}

TEST_CASE_METHOD(one_server, "client: arguments of any depth, in both kinds of JSON, are sent or refused") {
    auto const nested = [](std::size_t levels) {
        return R"({"z":1,"a":)" + std::string(levels, '[') + std::string(levels, ']') + "}";
    };
    for (std::size_t const levels : {1000U, 1'000'000U}) {
        auto const sorted = run(context, client().call("echo", nlohmann::json::parse(nested(levels))));
        auto const ordered = run(context, client().call("echo", nlohmann::ordered_json::parse(nested(levels))));
        for (auto const* const refused : {&sorted, &ordered}) {
            REQUIRE_FALSE(*refused);
            CHECK(refused->error() == errc::invalid_argument);
            CHECK(refused->error().text().find("an argument of a tool is nested too deeply") != std::string::npos);
        }
    }
    auto const sent = [](result<ipybox::mcp::tool_call_machine> const& call) {
        return std::string(call->params()[1].value);
    };
    CHECK(sent(ipybox::mcp::tool_call_machine::make("t", nlohmann::json::parse(nested(3)))) == R"({"a":[[[]]],"z":1})");
    CHECK(sent(ipybox::mcp::tool_call_machine::make("t", nlohmann::ordered_json::parse(nested(3)))) == nested(3));
}
