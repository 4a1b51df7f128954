#include <support/mcp_host.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

namespace {

using namespace ipybox;
using namespace ipybox::test::mcp_host_names;
using method = mcp::server_query::method;

/// tests/mcp/servers/resourceful.py
mcp::server_params resourceful(std::string era) {
    return {test::python().string(),
            {(test::source_dir() / "tests/mcp/servers/resourceful.py").string(), "--era", std::move(era)}};
}

class asking_host : public mcp_host {
  public:
    result<mcp::raw_json> ask(method what, std::string name = {}, mcp::call_options options = {}) {
        return test::run(context(), registry().ask("s", {.what = what, .name = std::move(name)}, std::move(options)));
    }

    json answer(method what, std::string name = {}) {
        auto const answered = ask(what, std::move(name));
        if (!answered) FAIL(answered.error().text());
        return json(answered->value());
    }
};

} // namespace

TEST_CASE_METHOD(asking_host, "resources and prompts of a server, in both eras") {
    for (auto const* const era : {"handshake", "stateless"}) {
        CAPTURE(era);
        use(resourceful(era));
        auto const listed = answer(method::list_resources);
        CHECK(listed["items"].size() == 7);
        CHECK(listed["items"][0] == json{{"uri", "doc://hello"}, {"name", "hello"}, {"title", nullptr}});
        CHECK(listed["remark"] == "");
        CHECK(answer(method::list_resource_templates)["items"][0]["uriTemplate"] == "doc://{number}");
        CHECK(answer(method::list_prompts)["items"].size() == 2);

        CHECK(answer(method::read_resource, "doc://hello")["contents"][0]["text"] == "größe");
        CHECK(answer(method::read_resource, "doc://bytes")["contents"][0]["blob"] == "AAEC");
        auto const missing = ask(method::read_resource, "doc://none");
        REQUIRE_FALSE(missing);
        CHECK(missing.error() == errc::mcp_refused);
        CHECK(test::contains(missing.error().text(), "refused `resources/read`: Resource not found"));

        mcp::server_query weather{.what = method::get_prompt, .name = "weather"};
        weather.arguments = mcp::raw_json::read(R"({"city":"Köln"})").value();
        auto const messages = test::run(context(), registry().ask("s", weather));
        REQUIRE(messages);
        CHECK(messages->value()["messages"][0]["content"]["text"] == "Weather in Köln?");
        CHECK(registry().instructions("s") == "Read doc://hello first.");
    }
    CHECK(answer(method::read_resource, "doc://rounds")["contents"][0]["text"] == "after rounds");
}

TEST_CASE_METHOD(asking_host, "resources: what cannot be asked says why") {
    use(test::wayward());
    CHECK(answer(method::list_resources)["items"].empty()); // a server that does not know a list has nothing to list
    auto const none = ask(method::read_resource, "doc://hello");
    REQUIRE_FALSE(none);
    CHECK(none.error() == errc::mcp_refused);
    CHECK(test::contains(none.error().text(), "the MCP server 's' refused `resources/read`: Method not found"));
    auto const unknown =
        test::run(context(), registry().ask("nobody", mcp::server_query{.what = method::list_prompts}));
    CHECK(unknown.error() == errc::mcp_server_unknown);

    use(resourceful("handshake"));
    mcp::call_options hurried;
    hurried.timeout = std::chrono::milliseconds(300);
    CHECK(ask(method::read_resource, "doc://slow", hurried).error() == errc::timed_out);
}

TEST_CASE_METHOD(asking_host, "server-everything: resources, templates, prompts, instructions") {
    auto const script =
        std::filesystem::path(IPYBOX_TEST_MCP_NODE) / "@modelcontextprotocol/server-everything/dist/index.js";
    REQUIRE(std::filesystem::exists(script));
    use({"node", {script.string()}});
    auto const listed = answer(method::list_resources)["items"];
    REQUIRE_FALSE(listed.empty());
    auto const uri = listed[0]["uri"].get<std::string>();
    CHECK(answer(method::read_resource, uri)["contents"][0]["uri"] == uri);
    CHECK(answer(method::list_resource_templates)["items"].size() == 2);
    CHECK(answer(method::read_resource, "demo://resource/dynamic/blob/1")["contents"][0].contains("blob"));
    CHECK(answer(method::list_prompts)["items"].size() >= 3);
    CHECK(answer(method::get_prompt, "simple-prompt")["messages"][0]["role"] == "user");
    CHECK(test::contains(registry().instructions("s"), "Everything"));
    CHECK(ask(method::read_resource, "demo://none").error() == errc::mcp_refused);
}
