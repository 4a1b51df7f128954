#include <ipybox/http/remote_channel.hpp>
#include <ipybox/mcp/server_registry.hpp>

#include <support/coroutines.hpp>

#include <asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/** \file
 * The client that the official conformance suite of MCP runs: `client URL`. The suite names the scenario and the
 * version of the protocol in the environment. It exits with 0 where each answer was the expected one.
 */

namespace {

using asio::awaitable;
using ipybox::result;
using ipybox::mcp::raw_json;
using ipybox::mcp::server_params;
using ipybox::mcp::server_query;
using nlohmann::ordered_json;

constexpr char const* name = "suite";

std::string setting(char const* variable) {
    char const* const value = std::getenv(variable);
    return value ? value : "";
}

/// The server of the suite, and what happened with it.
class session {
  public:
    session(asio::any_io_executor const& executor, server_params params) : servers_(executor, with_http()) {
        check("add", servers_.add(name, std::move(params)));
    }

    awaitable<std::vector<ipybox::mcp::tool>> list() {
        auto const tools = co_await servers_.list_tools(name);
        check("tools/list", tools);
        co_return tools.value_or(std::vector<ipybox::mcp::tool>());
    }

    /// A call that is refused is no fault of this program, where `must_succeed` does not say so.
    awaitable<void> call(std::string tool, ordered_json arguments, bool must_succeed = true) {
        auto const called = co_await servers_.call(name, tool, arguments);
        if (called) say("tools/call " + tool + ": " + called->text());
        if (must_succeed)
            check("tools/call " + tool, called);
        else if (!called)
            say("tools/call " + tool + ": " + called.error().text());
    }

    /// The first of a list, by the member that names it.
    awaitable<std::string> first(server_query::method what, char const* member) {
        server_query query;
        query.what = what;
        auto const listed = co_await servers_.ask(name, query);
        check(to_string(what), listed);
        auto const items = listed ? listed->value().value("items", ordered_json::array()) : ordered_json::array();
        co_return items.empty() ? std::string() : items.front().value(member, "");
    }

    awaitable<void> ask(server_query::method what, std::string about) {
        server_query query;
        query.what = what;
        query.name = std::move(about);
        check(to_string(what), co_await servers_.ask(name, query));
    }

    awaitable<void> stop() { return servers_.stop(); }

    [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

  private:
    static ipybox::mcp::registry_options with_http() {
        ipybox::mcp::registry_options options;
        options.make_channel = [](asio::any_io_executor const& executor, server_params const& server) {
            return ipybox::http::make_remote_channel(executor, server);
        };
        return options;
    }

    static void say(std::string const& what) { std::fprintf(stderr, "%s\n", what.c_str()); }

    template <class T>
    void check(std::string_view what, result<T> const& outcome) {
        if (outcome) return;
        has_failed_ = true;
        say(std::string(what) + ": " + std::string(outcome.error().name()) + ": " + outcome.error().text());
    }

    ipybox::mcp::server_registry servers_;
    bool has_failed_ = false;
};

// --- the scenarios ------------------------------------------------------------------------------------------------------

awaitable<void> only_list(session& suite) { (void)co_await suite.list(); }

awaitable<void> add_numbers(session& suite) {
    (void)co_await suite.list();
    ordered_json const arguments = {{"a", 5}, {"b", 3}};
    co_await suite.call("add_numbers", arguments);
}

awaitable<void> call_without_arguments(session& suite, std::string tool) {
    (void)co_await suite.list();
    co_await suite.call(std::move(tool), ordered_json::object());
}

awaitable<void> reconnect(session& suite) { return call_without_arguments(suite, "test_reconnection"); }

awaitable<void> ask_everything(session& suite) {
    auto const tools = co_await suite.list();
    if (!tools.empty()) co_await suite.call(tools.front().name, ordered_json::object(), false);
    using enum server_query::method;
    auto const resource = co_await suite.first(list_resources, "uri");
    co_await suite.ask(read_resource, resource);
    auto const prompt = co_await suite.first(list_prompts, "name");
    co_await suite.ask(get_prompt, prompt);
}

awaitable<void> call_as_told(session& suite) {
    (void)co_await suite.list();
    auto const context = ordered_json::parse(setting("MCP_CONFORMANCE_CONTEXT"), nullptr, false);
    auto const calls = context.is_object() ? context.value("toolCalls", ordered_json::array()) : ordered_json::array();
    for (auto const& each : calls) co_await suite.call(each.value("name", ""), each.value("arguments", ordered_json()));
}

awaitable<void> call_all(session& suite) {
    auto const tools = co_await suite.list();
    ordered_json const arguments = {{"region", "us-west1"}};
    for (auto const& each : tools) co_await suite.call(each.name, arguments);
}

awaitable<void> hand_states_over(session& suite) {
    (void)co_await suite.list();
    for (auto const* const tool :
         {"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"})
        co_await suite.call(tool, ordered_json::object(), false);
}

awaitable<void> send_schema_back(session& suite) {
    auto const tools = co_await suite.list();
    ordered_json arguments = ordered_json::object();
    for (auto const& each : tools)
        if (each.name == "json_schema_2020_12_tool") arguments["schema"] = each.input_schema;
    co_await suite.call("json_schema_echo", arguments);
}

awaitable<void> be_asked(session& suite) {
    auto const tools = co_await suite.list();
    for (auto const& each : tools) co_await suite.call(each.name, ordered_json::object(), false);
}

using scenario = std::function<awaitable<void>(session&)>;

scenario scenario_named(std::string const& wanted) {
    std::map<std::string, scenario> const known = {
        {"initialize", &only_list},
        {"request-metadata", &only_list},
        {"json-schema-ref-no-deref", &only_list},
        {"tools_call", &add_numbers},
        {"sse-retry", &reconnect},
        {"elicitation-sep1034-client-defaults", &be_asked},
        {"http-standard-headers", &ask_everything},
        {"http-custom-headers", &call_as_told},
        {"http-invalid-tool-headers", &call_all},
        {"sep-2322-client-request-state", &hand_states_over},
        {"json-schema-2020-12-preservation", &send_schema_back},
    };
    auto const found = known.find(wanted);
    return found == known.end() ? scenario() : found->second;
}

awaitable<void> play(scenario const& one, session& suite) {
    co_await one(suite);
    co_await suite.stop();
}

} // namespace

int main(int count, char** arguments) try {
    auto const wanted = scenario_named(setting("MCP_CONFORMANCE_SCENARIO"));
    if (count < 2 || !wanted) {
        std::fprintf(stderr, "usage: MCP_CONFORMANCE_SCENARIO=NAME client URL; or the scenario is not known\n");
        return 2;
    }
    server_params params;
    params.url = arguments[count - 1];
    params.versions = setting("MCP_CONFORMANCE_PROTOCOL_VERSION") < "2026" ? server_params::negotiation::handshake_only
                                                                           : server_params::negotiation::stateless_only;
    asio::io_context context;
    session suite(context.get_executor(), std::move(params));
    ipybox::test::run(context, play(wanted, suite));
    return suite.has_failed() ? 1 : 0;
} catch (std::exception const& bug) {
    std::fprintf(stderr, "%s\n", bug.what());
    return 1;
}
