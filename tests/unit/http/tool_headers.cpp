#include <ipybox/http/request_outline.hpp>
#include <ipybox/http/tool_headers.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace {

using ipybox::http::field_value;
using ipybox::http::outline_of;
using ipybox::http::tool_headers;
using nlohmann::json;

std::string answer_with(json const& tools) {
    return json{{"jsonrpc", "2.0"}, {"id", 1}, {"result", {{"tools", tools}, {"nextCursor", "x"}}}}.dump();
}

json tool(std::string const& name, json const& properties, json schema = json::object()) {
    schema["type"] = "object";
    schema["properties"] = properties;
    return {{"name", name}, {"inputSchema", schema}};
}

json mirrored(json const& field, json const& type = "string") { return {{"type", type}, {"x-mcp-header", field}}; }

} // namespace

TEST_CASE("outline_of: what HTTP has to know of a message") {
    auto const* const text =
        R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":)"
        R"("2026-07-28","progressToken":7},"name":"s\u00fcm","arguments":{"name":"other","uri":"x"}}})";
    auto const call = outline_of(text);
    CHECK(call.id == 7);
    CHECK(call.method == "tools/call");
    CHECK(call.version == "2026-07-28");
    CHECK(call.name == "süm");
    CHECK(call.arguments == R"({"name":"other","uri":"x"})");
    auto const cancellation =
        outline_of(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12,"reason":"r"}})");
    CHECK_FALSE(cancellation.id);
    CHECK(cancellation.cancelled == 12);
    CHECK(cancellation.version.empty());
    CHECK_FALSE(outline_of(R"({"jsonrpc":"2.0","id":3,"result":{}})").id); // an answer
    CHECK(outline_of(R"({"id":1,"method":"resources/read","params":{"uri":"file:///a"}})").name == "file:///a");
    CHECK(outline_of(R"({"id":1,"method":"tasks/get","params":{"taskId":"t-1"}})").name == "t-1");
    CHECK(outline_of(R"({"id":1,"method":"tools/call","params":null})").method == "tools/call");
    CHECK(outline_of("[]").method.empty());
}

TEST_CASE("field_value: a text that a field cannot have is encoded") {
    CHECK(field_value("us-west 1") == "us-west 1");
    CHECK(field_value("") == "");
    CHECK(field_value(" padded ") == "=?base64?IHBhZGRlZCA=?=");
    CHECK(field_value("a\nb") == "=?base64?YQpi?=");
    CHECK(field_value("ü") == "=?base64?w7w=?=");
    CHECK(field_value("=?base64?YQ==?=") == "=?base64?PT9iYXNlNjQ/WVE9PT89?=");
}

TEST_CASE("tool_headers: arguments that schemas name fields for") {
    tool_headers known;
    json const nested = {{"type", "object"}, {"properties", {{"deep", mirrored("Deep", "boolean")}}}};
    auto const list = answer_with(json::array(
        {tool("query", {{"region", mirrored("Region")}, {"count", mirrored("Count", "integer")}, {"in", nested}}),
         tool("plain", {{"x-mcp-header", {{"type", "string"}}}})}));
    CHECK_FALSE(known.learn(list));
    auto const fields = known.of("query", R"({"region":"eu","count":12345678901,"in":{"deep":true}})");
    CHECK(fields.find("Mcp-Param-Region") == "eu");
    CHECK(fields.find("mcp-param-count") == "12345678901");
    CHECK(fields.find("Mcp-Param-Deep") == "true");
    CHECK(known.of("query", R"({"count":42.0})").find("Mcp-Param-Count") == "42");
    CHECK(known.of("query", R"({"count":-1e3})").find("Mcp-Param-Count") == "-1000");
    CHECK(known.of("query", R"({"count":0.5})").all().empty());
    CHECK(known.of("query", R"({"count":1e300})").all().empty());
    CHECK(known.of("query", R"({"region":null,"in":3})").all().empty());
    CHECK(known.of("query", "not JSON").all().empty());
    CHECK(known.of("plain", R"({"x-mcp-header":"a"})").all().empty());
    CHECK(known.of("unknown", "{}").all().empty());
}

TEST_CASE("tool_headers: tools whose schemas name fields where they must not are left out of the list") {
    json const wrong =
        GENERATE(json{{"a", mirrored("")}}, json{{"a", mirrored("no token")}}, json{{"a", mirrored(7)}},
                 json{{"a", mirrored("Number", "number")}}, json{{"a", json{{"x-mcp-header", "NoType"}}}},
                 json{{"a", mirrored("Same")}, {"b", mirrored("same")}},
                 json{{"a", {{"type", "array"}, {"items", mirrored("InItems")}}}},
                 json{{"a", {{"anyOf", json::array({mirrored("InAny")})}}}},
                 json{{"a", {{"type", "object"}, {"additionalProperties", mirrored("InOthers")}}}});
    tool_headers known;
    auto const list = answer_with(
        json::array({tool("first", {{"r", mirrored("Region")}}), tool("wrong", wrong), tool("last", json::object())}));
    auto const left = known.learn(list);
    REQUIRE(left);
    auto const tools = json::parse(*left)["result"]["tools"];
    REQUIRE(tools.size() == 2);
    CHECK(tools[0]["name"] == "first");
    CHECK(tools[1]["name"] == "last");
    CHECK(json::parse(*left)["result"]["nextCursor"] == "x");
    auto const alone = known.learn(answer_with(json::array({tool("wrong", wrong)})));
    REQUIRE(alone);
    CHECK(json::parse(*alone)["result"]["tools"].empty());
}

TEST_CASE("tool_headers: data that looks like a field's name") {
    tool_headers known;
    json const properties = {
        {"a",
         {{"type", "object"}, {"default", {{"x-mcp-header", 1}}}, {"enum", json::array({{{"x-mcp-header", 2}}})}}}};
    CHECK_FALSE(known.learn(answer_with(json::array({tool("t", properties)}))));
}

TEST_CASE("tool_headers: a later list replaces what an earlier one said of a tool") {
    tool_headers known;
    auto const arguments = R"({"a":"x"})";
    CHECK_FALSE(known.learn(answer_with(json::array({tool("t", {{"a", mirrored("First")}})}))));
    CHECK(known.of("t", arguments).find("Mcp-Param-First") == "x");
    CHECK_FALSE(known.learn(answer_with(json::array({tool("t", {{"a", mirrored("Second")}})}))));
    CHECK(known.of("t", arguments).find("Mcp-Param-First").empty());
    CHECK(known.of("t", arguments).find("Mcp-Param-Second") == "x");
    CHECK_FALSE(known.learn(answer_with(json::array({tool("t", {{"a", {{"type", "string"}}}})}))));
    CHECK(known.of("t", arguments).all().empty());
}
