#include <ipybox/mcp/client.hpp>
#include <ipybox/mcp/server.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <support/eventually.hpp>
#include <support/mcp_host.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::test::mcp_host_names;

/// The fixture server, which hears our client ask for another version than it does.
mcp::server_params own_server(mcp::server_params::negotiation how, std::string const& asks_for = "2025-11-25") {
    mcp::server_params params{"/bin/sh", {"-c", "sed -u s/2025-11-25/" + asks_for + "/ | " IPYBOX_TEST_MCP_FIXTURE}};
    if (asks_for == "2025-11-25") params = mcp::server_params{IPYBOX_TEST_MCP_FIXTURE, {}};
    params.versions = how;
    return params;
}

//! [serve]
/// Greets a person, after asking the client's user how.
asio::awaitable<ipybox::mcp::call_result> greet(std::shared_ptr<ipybox::mcp::server::call> call) {
    std::string greeting = "Good day";
    if (call->can_elicit()) {
        auto const form = nlohmann::ordered_json::parse(
            R"({"type":"object","properties":{"greeting":{"type":"string"}},"required":["greeting"]})");
        auto const answer = co_await call->elicit("How shall I greet?", form);
        if (answer && answer->action == ipybox::mcp::server::elicitation::response::accept)
            greeting = answer->content.value("greeting", greeting);
    }
    call->progress(1, 1, "greeting");
    ipybox::mcp::call_result result;
    result.content.emplace_back(
        ipybox::mcp::content::text{greeting + ", " + call->arguments()["name"].get<std::string>() + "!"});
    co_return result;
}

/// Serves one client until it ends.
asio::awaitable<ipybox::result<void>> serve(int input, int output) {
    ipybox::mcp::server::tool tool;
    tool.definition.name = "greet";
    tool.definition.description = "Greets a person.";
    tool.definition.input_schema = nlohmann::ordered_json::parse(
        R"({"type":"object","properties":{"name":{"type":"string"}},"required":["name"]})");
    tool.handler = greet;
    ipybox::mcp::server::options options;
    options.name = "greeter";
    options.version = "1.0";
    options.tools.push_back(tool);
    auto server = ipybox::mcp::server::make(options);
    if (!server) co_return ipybox::failure(server);
    auto channel = ipybox::mcp::server::channel::stdio(options.limits.max_line_in, input, output);
    if (!channel) co_return ipybox::failure(channel);
    co_return co_await server->serve(*channel);
}
//! [serve]

} // namespace

TEST_CASE("our server and our client: the server of the documentation") {
    int in[2];
    int out[2];
    REQUIRE(::pipe2(in, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
    os::unique_fd const to_server(in[1]);
    os::unique_fd const input(in[0]);
    os::unique_fd const output(out[1]);
    os::unique_fd const from_server(out[0]);
    auto const say = [&](json const& message) {
        auto const line = message.dump() + "\n";
        REQUIRE(::write(to_server.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    };
    json const forms{{"elicitation", json::object()}};
    json const hello{{"protocolVersion", "2025-11-25"}, {"capabilities", forms}};
    json const whom{{"name", "greet"}, {"arguments", {{"name", "Ada"}}}};
    json const answer{{"action", "accept"}, {"content", {{"greeting", "Hello"}}}};
    say({{"jsonrpc", "2.0"}, {"id", 1}, {"method", "initialize"}, {"params", hello}});
    say({{"jsonrpc", "2.0"}, {"id", 2}, {"method", "tools/call"}, {"params", whom}});
    asio::io_context context(1);
    asio::co_spawn(context, serve(input.get(), output.get()), [](std::exception_ptr, result<void>) {});
    std::string heard;
    std::array<char, 4096> piece{};
    ::fcntl(from_server.get(), F_SETFL, O_NONBLOCK);
    auto const hears = [&](std::string_view what) {
        return test::eventually([&] {
            context.run_for(5ms);
            auto const count = ::read(from_server.get(), piece.data(), piece.size());
            if (count > 0) heard.append(piece.data(), static_cast<std::size_t>(count));
            return contains(heard, what);
        });
    };
    REQUIRE(hears("How shall I greet?"));
    say({{"jsonrpc", "2.0"}, {"id", "question-1"}, {"result", answer}});
    CHECK(hears("Hello, Ada!"));
}

TEST_CASE_METHOD(mcp_host, "our server and our client: every version, in every way to find out") {
    struct pair {
        mcp::server_params::negotiation how;
        char const* asks_for;
        char const* agreed;
    };
    using n = mcp::server_params::negotiation;
    for (auto const& [how, asks_for, agreed] :
         {pair{n::initialize_first, "2025-11-25", "2025-11-25"}, pair{n::discover_first, "2025-11-25", "2026-07-28"},
          pair{n::stateless_only, "2025-11-25", "2026-07-28"}, pair{n::handshake_only, "2025-11-25", "2025-11-25"},
          pair{n::handshake_only, "2025-06-18", "2025-06-18"}, pair{n::handshake_only, "2025-03-26", "2025-03-26"},
          pair{n::handshake_only, "2024-11-05", "2024-11-05"}, pair{n::initialize_first, "1999-01-01", "2025-11-25"}}) {
        CAPTURE(how, asks_for);
        auto const client = mcp::detail::client::make(context().get_executor(), "own", own_server(how, asks_for));
        auto const call = [&](std::string tool, json arguments = json::object(), mcp::call_options options = {}) {
            auto r = test::run(context(), client->call(std::move(tool), std::move(arguments), std::move(options)));
            if (!r) FAIL(r.error().text());
            return *r;
        };
        auto const tools = test::run(context(), client->list_tools());
        REQUIRE(tools);
        REQUIRE(tools->size() == 11);
        std::string const spoken = agreed;
        CHECK((*tools)[1].name == "add");
        CHECK((*tools)[1].title.has_value() == (spoken >= "2025-06-18"));
        CHECK((*tools)[1].output_schema.has_value() == (spoken >= "2025-06-18"));
        CHECK((*tools)[1].annotations.has_value() == (spoken >= "2025-03-26"));
        auto const session = test::run(context(), client->current_session());
        REQUIRE(session);
        CHECK(session->version == spoken);
        CHECK(session->server_name == "fixture");
        CHECK(session->instructions == "Call echo.");

        auto const sum = call("add", {{"a", 2}, {"b", 40}});
        CHECK(sum.structured_content.has_value() == (spoken >= "2025-06-18"));
        CHECK(sum.text() == R"({"sum":42.0})");
        auto const raw = *mcp::raw_json::read(R"({"z":123456789012345678901234567890,"a":[1,"ä"]})");
        auto const echo = test::run(context(), client->call("echo", raw));
        REQUIRE(echo);
        CHECK(echo->text() == raw.text());
        CHECK(call("fail").is_error);
        CHECK(contains(call("add", {{"a", "x"}, {"b", 1}}).text(), "a has to be a number"));
        CHECK(call("image").content.size() == 2);
        CHECK(contains(call("ask").text(), "(cannot ask) error")); // the client has no user to ask
        CHECK(contains(call("big", {{"bytes", 9'000'000}}).text(), "at most"));
        CHECK(call("big", {{"bytes", 8'000'000}}).text().size() == 8'000'000);

        std::vector<std::string> reports;
        mcp::call_options options;
        options.on_progress = [&](mcp::call_options::progress const& p) { reports.push_back(p.message.value_or("-")); };
        CHECK(call("slow", {{"steps", 2}, {"interval_ms", 5}}, options).text() == "took 2 steps");
        CHECK(reports == (spoken == "2024-11-05" ? std::vector<std::string>{"-", "-"}
                                                 : std::vector<std::string>{"step 1", "step 2"}));
        mcp::call_options brief;
        brief.timeout = 50ms;
        auto const late = test::run(context(), client->call("wait", json::object(), brief));
        REQUIRE_FALSE(late);
        CHECK(late.error() == errc::timed_out);
        std::string waited;
        for (int i = 0; i < 1000 && waited != R"({"begun":1,"cancelled":1})"; ++i) waited = call("waited").text();
        CHECK(waited == R"({"begun":1,"cancelled":1})");
        auto const unknown = test::run(context(), client->call("nope", json::object()));
        REQUIRE_FALSE(unknown);
        CHECK(unknown.error() == errc::mcp_refused);

        auto const begin = std::chrono::steady_clock::now();
        test::run(context(), client->stop());
        CHECK(std::chrono::steady_clock::now() - begin < 1500ms); // it ends with its input, untold
    }
}

TEST_CASE_METHOD(mcp_host, "our server and our client: 30 MB of arguments, many calls at once") {
    for (auto const how :
         {mcp::server_params::negotiation::handshake_only, mcp::server_params::negotiation::stateless_only}) {
        use(own_server(how));
        CHECK(contains(text("echo", {{"x", std::string(30'000'000, 'x')}}), "takes 6000")); // as text and structured
        std::vector<std::shared_ptr<pending>> calls;
        for (int i = 0; i < 60; ++i) calls.push_back(begin("add", {{"a", i}, {"b", 1}}));
        REQUIRE(until([&] {
            for (auto const& one : calls)
                if (!one->outcome) return false;
            return true;
        }));
        for (int i = 0; i < 60; ++i)
            CHECK((*calls[static_cast<std::size_t>(i)]->outcome)->structured_content->value()["sum"] == i + 1);
    }
}
