#include <ipybox/mcp/server_registry.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/coroutines.hpp>
#include <support/scratch_dir.hpp>
#include <support/scripted_channel.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <asio/use_future.hpp>

#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::mcp;
using nlohmann::json;
using test::contains;
using test::run;
using test::scripted_server;

/// A server that answers every call with its own name.
std::shared_ptr<scripted_server> named(std::string name) {
    auto server = std::make_shared<scripted_server>();
    server->answer = [name](json const& message) -> std::vector<std::string> {
        if (!message.contains("id")) return {};
        json result = {{"protocolVersion", "2025-11-25"},
                       {"tools", json::array()},
                       {"content", {{{"type", "text"}, {"text", name}}}}};
        return {json{{"jsonrpc", "2.0"}, {"id", message["id"]}, {"result", result}}.dump()};
    };
    return server;
}

struct two_servers {
    asio::io_context context{1};
    std::map<std::string, std::shared_ptr<scripted_server>> servers{{"one", named("one")}, {"two", named("two")}};
    std::unique_ptr<server_registry> registry;

    two_servers() {
        registry_options options;
        options.variables = [](std::string const& name) -> std::optional<std::string> {
            return name == "WHICH" ? std::optional<std::string>("two") : std::nullopt;
        };
        options.make_channel = [this](asio::any_io_executor const& executor, server_params const& params) {
            return test::channels_to(servers.at(params.command))(executor, params);
        };
        registry = std::make_unique<server_registry>(context.get_executor(), std::move(options));
    }
    ~two_servers() {
        run(context, registry->stop());
        registry.reset();
        context.restart();
        context.run();
    }

    static server_params running(std::string command) {
        server_params params;
        params.command = std::move(command);
        return params;
    }

    std::string call(std::string const& server) {
        auto const r = run(context, registry->call(server, "t", json::object()));
        return r ? r->text() : "<" + r.error().code().message() + ">";
    }
};

} // namespace

TEST_CASE_METHOD(two_servers, "server_registry: a name stands for its parameters until the host replaces them") {
    REQUIRE(registry->add("github", running("one")));
    auto const again = registry->add("github", running("two"));
    REQUIRE_FALSE(again);
    CHECK(again.error() == errc::mcp_server_exists);
    CHECK(call("github") == "one");
    REQUIRE(registry->replace("github", running("two")));
    CHECK(call("github") == "two");
    CHECK(servers["one"]->closed == 1);
    CHECK(registry->names() == std::vector<std::string>{"github"});
    CHECK(registry->remove("github"));
    CHECK_FALSE(registry->remove("github"));
    CHECK(call("github") == "<no MCP server of that name is registered>");
    REQUIRE(registry->add("github", running("one")));
    CHECK(call("github") == "one");
}

namespace {

/// Offers one tool, which returns its arguments.
class mirror final : public tool_provider {
  public:
    [[nodiscard]] std::vector<tool> tools() const override { return {tool{.name = "t"}}; }
    [[nodiscard]] std::optional<ipybox::detail::tool_annotations> annotations(std::string const& name) const override {
        if (name != "t") return std::nullopt;
        return ipybox::detail::tool_annotations{.read_only = true, .destructive = false};
    }
    asio::awaitable<result<call_result>> call(std::string tool, raw_json arguments, call_options) override {
        call_result returned;
        returned.content.emplace_back(content::text{tool + arguments.text()});
        co_return returned;
    }
    void end() override { ended = true; }

    bool ended = false;
};

} // namespace

TEST_CASE_METHOD(two_servers, "server_registry: tools of the application have names among the servers") {
    auto const own = std::make_shared<mirror>();
    REQUIRE(registry->add("own", own));
    REQUIRE(registry->add("github", running("one")));
    CHECK(registry->names() == std::vector<std::string>{"github"});
    CHECK(registry->provider("own") == own);
    CHECK_FALSE(registry->provider("github"));
    CHECK(call("own") == "t{}");
    CHECK(call("github") == "one");
    auto const listed = run(context, registry->call_listed("own", "u", *raw_json::of(json{{"a", 1}})));
    REQUIRE(listed);
    CHECK(listed->text() == R"(u{"a":1})");
    auto const list = run(context, registry->list_tools("own"));
    REQUIRE(list);
    CHECK(list->at(0).name == "t");
    CHECK(registry->annotations("own", "t").value().read_only);
    CHECK_FALSE(registry->annotations("own", "u"));
    CHECK_FALSE(registry->annotations("github", "t")); // which has not listed its tools
    CHECK_FALSE(registry->annotations("nobody", "t"));

    auto const code_of = [](result<void> const& r) { return r ? std::error_code() : r.error().code(); };
    CHECK(code_of(registry->add("github", own)) == errc::mcp_server_exists);
    CHECK(code_of(registry->add("own", running("two"))) == errc::mcp_server_exists);
    CHECK(code_of(registry->replace("own", running("two"))) == errc::mcp_server_exists);
    CHECK(code_of(registry->add("no name", own)) == errc::invalid_argument);

    CHECK(registry->remove("own"));
    CHECK(own->ended);
    CHECK(call("own") == "<no MCP server of that name is registered>");
    REQUIRE(registry->add("own", running("two")));
    CHECK(call("own") == "two");
}

TEST_CASE_METHOD(two_servers, "server_registry: names are such that Python can import them") {
    for (auto const* const name : {"", "a-b", "../x", "2fa", "a b"}) {
        auto const added = registry->add(name, running("one"));
        REQUIRE_FALSE(added);
        CHECK(added.error() == errc::invalid_argument);
        CHECK_FALSE(registry->replace(name, running("one")));
    }
    CHECK(contains(registry->add("brave-search", running("one")).error().text(), "brave_search"));
    CHECK(registry->names().empty());
}

TEST_CASE_METHOD(two_servers,
                 "server_registry: nothing starts before it is needed, and stop ends all and leaves them usable") {
    REQUIRE(registry->add("a", running("one")));
    REQUIRE(registry->add("b", running("two")));
    run(context, registry->stop());
    CHECK(servers["one"]->lives == 0);
    CHECK(call("a") == "one");
    CHECK(servers["two"]->lives == 0);
    CHECK(call("b") == "two");
    run(context, registry->stop());
    CHECK(servers["one"]->closed == 1);
    CHECK(servers["two"]->closed == 1);
    CHECK(call("a") == "one");
    CHECK(servers["one"]->lives == 2);
}

TEST_CASE("server_registry: may outlive its I/O context, and calls fail then, those under way too") {
    bool const on_strand = GENERATE(false, true);
    auto const server = named("one");
    asio::io_context callers; // live on
    auto context = std::make_unique<asio::io_context>();
    registry_options options;
    options.make_channel = test::channels_to(server);
    auto const executor = [&] {
        return on_strand ? asio::any_io_executor(asio::make_strand(*context))
                         : asio::any_io_executor(context->get_executor());
    };
    auto registry = std::make_unique<server_registry>(executor(), std::move(options));
    REQUIRE(registry->add("one", two_servers::running("one")));
    auto begun = asio::co_spawn(callers, registry->call("one", "t", json::object()), asio::use_future);
    callers.poll();
    SECTION("under way") {
        auto const answers = std::exchange(server->answer, [](json const&) { return std::vector<std::string>(); });
        context->poll(); // asks for the protocol's version, and has no answer
        CHECK(server->heard.size() == 1);
    }
    SECTION("not begun") {}
    context.reset();
    callers.restart();
    callers.run();
    REQUIRE(begun.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
    CHECK(begun.get().error() == errc::not_running);
    CHECK(run(callers, registry->call("one", "t", json::object())).error() == errc::not_running);
    CHECK(run(callers, registry->list_tools("one")).error() == errc::not_running);
    CHECK(registry->add("two", two_servers::running("two")).error() == errc::not_running);
    CHECK(registry->replace("one", two_servers::running("two")).error() == errc::not_running);
    run(callers, registry->stop());
    registry->kill();
    CHECK(registry->remove("one"));
}

TEST_CASE("server_registry: what it forgets ends without its lock") {
    auto context = std::make_unique<asio::io_context>();
    server_registry registry(context->get_executor());
    std::thread other;
    bool answered = false;
    struct asking_sandbox {
        std::shared_ptr<void> held;
        [[nodiscard]] result<launch_spec> wrap(launch_spec spec) const { return spec; }
    };
    auto const ask = [&](std::nullptr_t) {
        auto const names = std::make_shared<std::promise<void>>();
        auto seen = names->get_future();
        other = std::thread([&registry, names] {
            (void)registry.names();
            names->set_value();
        });
        answered = seen.wait_for(std::chrono::seconds(5)) == std::future_status::ready;
    };
    {
        server_params params;
        params.command = "cat";
        params.sandbox.emplace(asking_sandbox{std::shared_ptr<void>(nullptr, ask)});
        REQUIRE(registry.add("one", std::move(params)));
    }
    context.reset(); // else the context may have the last copy
    CHECK(registry.remove("one"));
    REQUIRE(other.joinable());
    other.join();
    CHECK(answered);
}

TEST_CASE("server_registry: the look-up of variables may ask the registry, and throw") {
    asio::io_context context;
    std::unique_ptr<server_registry> registry;
    registry_options options;
    options.variables = [&](std::string const& name) -> std::optional<std::string> {
        if (name == "BAD") throw std::runtime_error("an application's mistake");
        return registry->names().front();
    };
    registry = std::make_unique<server_registry>(context.get_executor(), std::move(options));
    REQUIRE(registry->add("one", two_servers::running("/${GOOD}")));
    REQUIRE(registry->add("two", two_servers::running("/${BAD}")));
    auto asked = std::async(std::launch::async, [&] { return registry->files(); });
    if (asked.wait_for(std::chrono::seconds(30)) != std::future_status::ready) {
        std::cerr << "the registry waits for itself" << std::endl;
        std::abort(); // the future would wait too
    }
    CHECK(asked.get().read_only == mcp::detail::files_of(server_params{"/one"}).read_only);
}

TEST_CASE_METHOD(two_servers, "server_registry: variables are put in when the server starts, and shown to nobody") {
    REQUIRE(registry->add("a", running("${WHICH}")));
    CHECK(call("a") == "two");
    CHECK(registry->params("a")->command == "${WHICH}");
    CHECK_FALSE(registry->params("b"));
    REQUIRE(registry->add("b", running("${NOT_SET}")));
    auto const r = run(context, registry->call("b", "t", json::object()));
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::variable_not_set);
    CHECK(contains(r.error().text(), "the MCP server 'b' needs a variable that is not set: NOT_SET"));
}

TEST_CASE_METHOD(two_servers, "server_registry: servers of a file, of which a bad one costs no other") {
    test::scratch_dir const dir;
    auto const file = dir.write("mcp.json", R"({"mcpServers":{"b":{"command":"two"},"a":{"command":"one"}}})");
    auto const added = registry->add_file(file);
    REQUIRE(added);
    CHECK(added->notices.empty());
    CHECK(added->names == std::vector<std::string>{"a", "b"});
    CHECK(call("b") == "two");
    CHECK(run(context, registry->list_tools("a")));
    CHECK(registry->add_file(file).error() == errc::mcp_server_exists);
    auto const partly = dir.write("other.json", R"({"mcpServers":{"c":{"command":"one"},"d":{"command":7}}})");
    auto const part = registry->add_file(partly);
    REQUIRE(part);
    CHECK(part->names == std::vector<std::string>{"c"});
    CHECK(part->left_out.size() == 1);
    CHECK(registry->names() == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("server_registry: what of a file cannot be as it is there is told") {
    asio::io_context context;
    test::scratch_dir const dir;
    server_registry registry(context.get_executor());
    auto const added = registry.add_file(dir.write("mcp.json", R"({"mcpServers":{
        "brave-search":{"command":"c"},"far-off":{"url":"https://secret"},"near":{"command":"c"}}})"));
    REQUIRE(added);
    CHECK(added->names == std::vector<std::string>{"brave_search", "near"});
    REQUIRE(added->notices.size() == 2);
    CHECK(contains(added->notices[0], "\"far-off\" is left out: it is reached over HTTP"));
    CHECK(contains(added->notices[1], "\"brave-search\" is registered as brave_search"));
    CHECK_FALSE(registry.params("far_off"));
    auto const none = registry.add_file(dir.write("far.json", R"({"mcpServers":{"far":{"url":"https://secret"}}})"));
    REQUIRE_FALSE(none);
    CHECK(none.error() == errc::invalid_argument);
    CHECK(contains(none.error().text(), "\"far\" is left out"));
    CHECK_FALSE(contains(none.error().text(), "secret"));
    auto const nobody = registry.add_file(dir.write("empty.json", R"({"mcpServers":{}})"));
    REQUIRE(nobody);
    CHECK(nobody->names.empty());

    registry_options reaching;
    reaching.make_channel = [](auto const&, auto const&) { return result<std::shared_ptr<channel>>(); };
    server_registry far(context.get_executor(), std::move(reaching));
    CHECK(far.add_file(dir.path() / "far.json")->names == std::vector<std::string>{"far"});
}

TEST_CASE_METHOD(two_servers, "server_registry: tells which server's tools changed") {
    std::vector<std::string> changed;
    registry_options options;
    options.make_channel = test::channels_to(servers["one"]);
    options.on_tools_changed = [&](std::string const& name) { changed.push_back(name); };
    run(context, registry->stop());
    registry = std::make_unique<server_registry>(context.get_executor(), std::move(options));
    REQUIRE(registry->add("a", running("one")));
    CHECK(call("a") == "one");
    servers["one"]->say(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
    CHECK(call("a") == "one");
    CHECK(changed == std::vector<std::string>{"a"});
}

TEST_CASE("server_registry: parameters that name no server are refused") {
    asio::io_context context;
    server_registry registry(context.get_executor());
    auto const refused = registry.add("none", server_params());
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::invalid_argument);
    CHECK(contains(refused.error().text(), "'none' have neither `command` nor `url`"));
    CHECK(registry.names().empty());
}

TEST_CASE("make_channel: what cannot be reached says so") {
    asio::io_context context;
    server_params params;
    params.url = "https://host/mcp";
    server_registry registry(context.get_executor());
    REQUIRE(registry.add("far", params));
    auto const r = run(context, registry.call("far", "t", json::object()));
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::invalid_argument);
    CHECK(contains(r.error().text(), "the MCP server 'far' is reached over HTTP"));
}
