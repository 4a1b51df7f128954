#include <ipybox/mcp/client.hpp>

#include <support/eventually.hpp>
#include <support/files.hpp>
#include <support/mcp_host.hpp>
#include <support/scratch_dir.hpp>

#include <signal.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <variant>

namespace {

using namespace ipybox;
using namespace ipybox::test::mcp_host_names;

mcp::server_params node(std::string const& package, std::vector<std::string> args = {}) {
    auto const script =
        std::filesystem::path(IPYBOX_TEST_MCP_NODE) / "@modelcontextprotocol" / package / "dist/index.js";
    INFO("./dev setup installs the Node packages");
    REQUIRE(std::filesystem::exists(script));
    mcp::server_params params{"node", {script.string()}};
    params.args.insert(params.args.end(), args.begin(), args.end());
    return params;
}

mcp::server_params sdk(mcp::server_params::negotiation how, std::vector<std::string> const& options = {}) {
    INFO("./dev setup makes this environment");
    REQUIRE(std::filesystem::exists(IPYBOX_TEST_MCP_PYTHON));
    mcp::server_params params{IPYBOX_TEST_MCP_PYTHON, {(test::source_dir() / "tests/mcp/servers/sdk.py").string()}};
    params.args.insert(params.args.end(), options.begin(), options.end());
    params.versions = how;
    return params;
}

std::vector<std::string> names_of(result<std::vector<mcp::tool>> const& tools) {
    std::vector<std::string> names;
    if (!tools) FAIL(tools.error().text());
    for (auto const& t : *tools) names.push_back(t.name);
    return names;
}

//! [registry]
/// Registers the servers of a file and calls a tool of one of them.
asio::awaitable<std::string> add(ipybox::mcp::server_registry& registry, std::filesystem::path const& file) {
    auto const added = registry.add_file(file);
    if (!added) co_return added.error().text();

    nlohmann::json const arguments = {{"a", 2}, {"b", 40}};
    ipybox::mcp::call_options options;
    options.timeout = std::chrono::seconds(20);
    auto const sum = co_await registry.call("calculator", "add", arguments, options);
    if (!sum) co_return sum.error().text();                // there is no result
    if (sum->is_error) co_return "failed: " + sum->text(); // the tool says that it failed
    co_return sum->text();
}
//! [registry]

template <class T>
std::size_t count(mcp::call_result const& r) {
    std::size_t n = 0;
    for (auto const& block : r.content) n += std::holds_alternative<T>(block.value);
    return n;
}

} // namespace

TEST_CASE_METHOD(mcp_host, "server-filesystem: writes and reads a file") {
    test::scratch_dir const dir;
    use(node("server-filesystem", {dir.path().string()}));
    auto const tools = test::run(context(), registry().list_tools("s"));
    CHECK(names_of(tools).size() >= 10);
    for (auto const& t : *tools) CHECK(t.output_schema);
    auto const file = (dir.path() / "a.txt").string();
    CHECK(call("write_file", {{"path", file}, {"content", "größe\n2"}}));
    CHECK(text("read_text_file", {{"path", file}}) == "größe\n2");
    CHECK(value("list_directory", {{"path", dir.path().string()}})["content"] == "[FILE] a.txt");
    auto const outside = call("read_text_file", {{"path", "/etc/hostname"}});
    REQUIRE(outside);
    CHECK(outside->is_error);
    CHECK(stop() < 2s);
}

TEST_CASE_METHOD(mcp_host, "server-everything: content, structured content, progress, what it asks of the client") {
    use(node("server-everything"));
    auto const names = names_of(test::run(context(), registry().list_tools("s")));
    auto const has = [&names](char const* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
    REQUIRE(has("echo"));
    CHECK(text("echo", {{"message", "hello"}}) == "Echo: hello");
    REQUIRE(has("get-tiny-image"));
    auto const image = call("get-tiny-image");
    REQUIRE(image);
    CHECK(count<mcp::content::image>(*image) == 1);
    REQUIRE(has("get-structured-content"));
    CHECK(value("get-structured-content", {{"location", "New York"}}).contains("temperature"));
    REQUIRE(has("get-resource-links"));
    CHECK(count<mcp::content::resource_link>(call("get-resource-links", {{"count", 3}}).value()) == 3);
    REQUIRE(has("get-resource-reference"));
    CHECK(count<mcp::content::embedded_resource>(
              call("get-resource-reference", {{"resourceType", "Text"}, {"resourceId", 1}}).value()) == 1);

    REQUIRE(has("trigger-long-running-operation"));
    int reports = 0;
    mcp::call_options options;
    options.on_progress = [&](mcp::call_options::progress const&) { ++reports; };
    CHECK(call("trigger-long-running-operation", {{"duration", 0.3}, {"steps", 3}}, options));
    CHECK(reports == 3);
    options.timeout = 200ms;
    CHECK(failure_of("trigger-long-running-operation", {{"duration", 60}, {"steps", 2}}, options) == errc::timed_out);
    CHECK(text("echo", {{"message", "on"}}) == "Echo: on");
    auto const unknown = call("no-such-tool");
    CHECK((!unknown || unknown->is_error));
}

TEST_CASE_METHOD(mcp_host, "server-memory and server-sequential-thinking: state in the server") {
    test::scratch_dir const dir;
    auto memory = node("server-memory");
    memory.env = {{"MEMORY_FILE_PATH", (dir.path() / "memory.json").string()}};
    use(memory);
    json const entity = {{"name", "ipybox"}, {"entityType", "library"}, {"observations", {"runs Python"}}};
    CHECK(call("create_entities", {{"entities", {entity}}}));
    CHECK(value("read_graph")["entities"][0]["name"] == "ipybox");

    REQUIRE(registry().add("thinking", node("server-sequential-thinking")));
    json const thought = {
        {"thought", "first"}, {"nextThoughtNeeded", false}, {"thoughtNumber", 1}, {"totalThoughts", 1}};
    auto const r = test::run(context(), registry().call("thinking", "sequentialthinking", thought));
    REQUIRE(r);
    REQUIRE(r->structured_content);
    CHECK(r->structured_content->value()["thoughtHistoryLength"] == 1);
}

namespace {

/// A registry knows the variables that were there when it was made.
struct sdk_variable {
    sdk_variable() { ::setenv("IPYBOX_TEST_SDK", (test::source_dir() / "tests/mcp/servers/sdk.py").c_str(), 1); }
};

struct host_with_sdk_variable : sdk_variable, mcp_host {};

} // namespace

TEST_CASE_METHOD(host_with_sdk_variable, "the registry of its page: servers of a file") {
    test::scratch_dir const dir;
    json const entry = {{"command", IPYBOX_TEST_MCP_PYTHON}, {"args", {"${IPYBOX_TEST_SDK}"}}};
    auto const file = dir.write("mcp.json", json{{"mcpServers", {{"calculator", entry}}}}.dump());
    CHECK(test::run(context(), add(registry(), file)) == "42");
    CHECK(contains(test::run(context(), add(registry(), file)), "registered already"));
}

TEST_CASE_METHOD(mcp_host, "the protocol's Python library: both eras, in every way to find out") {
    struct kind {
        mcp::server_params::negotiation how;
        mcp::detail::era expected;
    };
    using n = mcp::server_params::negotiation;
    for (auto const& [how, expected] :
         {kind{n::initialize_first, mcp::detail::era::handshake}, kind{n::discover_first, mcp::detail::era::stateless},
          kind{n::stateless_only, mcp::detail::era::stateless}, kind{n::handshake_only, mcp::detail::era::handshake}}) {
        CAPTURE(how);
        auto const client = mcp::detail::client::make(context().get_executor(), "sdk", sdk(how));
        auto const call = [&](std::string tool, json arguments, mcp::call_options options = {}) {
            return test::run(context(), client->call(std::move(tool), std::move(arguments), std::move(options)));
        };
        CHECK(names_of(test::run(context(), client->list_tools())).size() == 8);
        CHECK(test::run(context(), client->current_session())->era == expected);

        auto const sum = call("add", {{"a", 2}, {"b", 40}});
        REQUIRE(sum);
        CHECK(sum->structured_content->text() == R"({"result":42})");
        CHECK(call("mirror", {{"point", {{"x", 1}, {"y", 2}}}})->structured_content->value() ==
              nlohmann::ordered_json{{"x", 2}, {"y", 1}});
        CHECK(count<mcp::content::image>(call("picture", json::object()).value()) == 1);
        auto const broken = call("broken", json::object());
        REQUIRE(broken);
        CHECK(broken->is_error);
        CHECK(contains(broken->text(), "broken"));
        auto const wrong = call("add", {{"a", "x"}});
        CHECK((!wrong || wrong->is_error));

        std::vector<std::string> reports;
        mcp::call_options options;
        options.on_progress = [&](mcp::call_options::progress const& p) { reports.push_back(p.message.value_or("")); };
        CHECK(call("steps", {{"count", 3}}, options).value().text() == "done");
        CHECK(reports == std::vector<std::string>{"step 1", "step 2", "step 3"});

        options.timeout = 100ms;
        auto const late = call("slow", {{"seconds", 60}}, options);
        REQUIRE_FALSE(late);
        CHECK(late.error() == errc::timed_out);
        CHECK(call("long_text", {{"size", 5'000'000}}).value().text().size() == 5'000'000);
        test::run(context(), client->stop());
    }
}

TEST_CASE_METHOD(mcp_host, "the protocol's Python library: noisy, crashing, deaf to the end of its input") {
    for (auto const how :
         {mcp::server_params::negotiation::handshake_only, mcp::server_params::negotiation::stateless_only}) {
        CAPTURE(how);
        auto params = sdk(how, {"--noisy", "--ignore-eof"});
        params.stop_grace = 200ms;
        use(params);
        for (int i = 0; i < 3; ++i) CHECK(value("add", {{"a", i}, {"b", 40}})["result"] == 40 + i);
        auto const crashed = failure_of("crash");
        CHECK(crashed == errc::mcp_server_died);
        CHECK(crashed.status().code == 9);
        CHECK(value("add", {{"a", 2}, {"b", 40}})["result"] == 42);

        auto const slow = begin("slow", {{"seconds", 60}});
        CHECK(value("add", {{"a", 3}, {"b", 40}})["result"] == 43);
        slow->cancel.emit(asio::cancellation_type::terminal);
        REQUIRE(until([&] { return slow->outcome.has_value(); }));
        CHECK(slow->outcome->error() == condition::cancelled);
        auto const took = stop();
        CHECK(took >= 200ms); // it had to be told
        CHECK(took < 20s);
    }
}

TEST_CASE_METHOD(mcp_host, "a server whose wrapper ends before it is killed, also where the system reaps children") {
    auto const before = std::signal(SIGCHLD, SIG_IGN);
    test::scratch_dir const dir;
    auto const told = dir.path() / "pid";
    auto params = node("server-filesystem", {dir.path().string()});
    auto& server = params;
    // As npx and uvx stand in front of a server, but this one does not wait for it.
    constexpr auto wrapper = R"sh(exec 3<&0; "$@" <&3 & echo $! > "$0"; exit 3)sh";
    server.args.insert(server.args.begin(), {"-c", wrapper, told.string(), server.command});
    server.command = "/bin/sh";
    use(params);
    CHECK_FALSE(call("list_allowed_directories"));
    pid_t const pid = std::stoi("0" + test::read_file(told));
    REQUIRE(pid > 0);
    CHECK(test::eventually([pid] { return ::kill(pid, 0) != 0; }));
    std::signal(SIGCHLD, before);
}
