#include <ipybox/mcp/content_request_machine.hpp>
#include <ipybox/mcp/item_list_machine.hpp>
#include <ipybox/mcp/server_query.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace {

using namespace ipybox;
using namespace ipybox::mcp;
using nlohmann::json;

using resources = item_list_machine<resource_list>;
using resource_read = content_request_machine<resource_request>;
using prompt_get = content_request_machine<prompt_request>;

/// What would be sent.
template <class Machine>
json sent_by(Machine const& m) {
    return json::parse(write_rpc_request(1, Machine::method, m.params()));
}

} // namespace

TEST_CASE("item_list_machine: items of all pages as they came, in their order") {
    resources m;
    CHECK(sent_by(m)["method"] == "resources/list");
    CHECK(sent_by(m)["params"] == json::object());
    REQUIRE_FALSE(m.on_result(R"({"resources":[{"uri":"a://1","size":12345678901234567890123,"z":1,"a":null}],
                                  "nextCursor":"x"})"));
    CHECK(sent_by(m)["params"] == json{{"cursor", "x"}});
    auto const end = m.on_result(R"({"resources":[{"uri":"a://2","name":"n"},{"name":"without a URI"},7]})");
    REQUIRE(end);
    REQUIRE(*end);
    CHECK((*end)->text() == R"({"items":[{"uri":"a://1","size":12345678901234567890123,"z":1,"a":null},)"
                            R"({"uri":"a://2","name":"n"}],"remark":""})");
}

TEST_CASE("item_list_machine: ends where nothing new comes, and keeps what there is") {
    auto const page = R"({"resources":[{"uri":"a"}],"nextCursor":"same"})";
    resources repeats;
    REQUIRE_FALSE(repeats.on_result(page));
    CHECK((**repeats.on_result(page)).text() == R"({"items":[{"uri":"a"}],"remark":""})");

    resources refused;
    REQUIRE_FALSE(refused.on_result(page));
    CHECK(refused.on_refusal({errc::mcp_refused, "is busy"}, -32000)->text() ==
          R"({"items":[{"uri":"a"}],"remark":"the rest of the list is missing: the server is busy"})");
    CHECK(resources().on_refusal({errc::mcp_refused, "is busy"}, -32000).error() == errc::mcp_refused);
    CHECK(resources().on_refusal({errc::mcp_refused, "unknown"}, -32601)->text() == R"({"items":[],"remark":""})");
}

TEST_CASE("item_list_machine: what is no list, and an empty one") {
    CHECK(resources().on_result(R"({"tools":[]})")->error().text() ==
          "answered `resources/list` with something that is no list of resources");
    CHECK(resources().on_result("[]")->error() == errc::protocol_error);
    CHECK((**resources().on_result(R"({"resources":null})")).text() == R"({"items":[],"remark":""})");
    CHECK((**item_list_machine<resource_template_list>().on_result(
               R"({"resourceTemplates":[{"uriTemplate":"a://{x}"}]})"))
              .text() == R"({"items":[{"uriTemplate":"a://{x}"}],"remark":""})");
    CHECK((**item_list_machine<prompt_list>().on_result(R"({"prompts":[{"name":"p"}]})")).text() ==
          R"({"items":[{"name":"p"}],"remark":""})");
}

TEST_CASE("content_request_machine: one request, the result as it came") {
    resource_read m("file:///größe \"x\"");
    CHECK(sent_by(m)["method"] == "resources/read");
    CHECK(sent_by(m)["params"] == json{{"uri", "file:///größe \"x\""}});
    auto const result = R"({"contents":[{"uri":"a","text":"b"}],"ttlMs":5})";
    CHECK((**m.on_result(result)).text() == result);

    prompt_get prompt("p", R"({"city":"Kiel"})");
    CHECK(sent_by(prompt)["params"] == json{{"name", "p"}, {"arguments", {{"city", "Kiel"}}}});
    CHECK((**prompt.on_result(R"({"messages":[]})")).text() == R"({"messages":[]})");
}

TEST_CASE("content_request_machine: results without content") {
    for (auto const* const result : {"{}", "[]", R"({"contents":null})", R"({"contents":{}})", "{\"contents\":[}"}) {
        auto const end = resource_read("a").on_result(result);
        REQUIRE(end);
        CHECK(end->error() == errc::protocol_error);
        CHECK(test::contains(end->error().text(), "answered `resources/read` with a result"));
    }
}

TEST_CASE("content_request_machine: rounds with the server's state, but no input") {
    resource_read m("a");
    REQUIRE_FALSE(m.on_result(R"({"resultType":"input_required","requestState":"s\u0041"})"));
    CHECK(m.params().back().value == R"("s\u0041")");
    CHECK(m.on_result(R"({"resultType":"complete","contents":[]})"));

    auto const asked =
        prompt_get("p").on_result(R"({"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}}})");
    CHECK(asked->error() == errc::mcp_input_required);
    CHECK(resource_read("a").on_result(R"({"resultType":"hologram"})")->error() == errc::protocol_error);
}

TEST_CASE("server_query: methods by their names") {
    using enum server_query::method;
    for (auto const method : {list_resources, list_resource_templates, read_resource, list_prompts, get_prompt})
        CHECK(mcp::detail::query_method_named(to_string(method)) == method);
    CHECK_FALSE(mcp::detail::query_method_named("tools/list"));
}
