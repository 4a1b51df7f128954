#include <ipybox/mcp/impl/request_id_scan.hpp>
#include <ipybox/mcp/lenient_arguments.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace {

using ipybox::mcp::raw_json;
using ipybox::mcp::detail::lenient_arguments;
using ipybox::mcp::detail::request_id_scan;
using nlohmann::ordered_json;

ordered_json const schema = ordered_json::parse(R"({"type": "object", "required": ["code"], "properties": {
    "code": {"type": "string"}, "seconds": {"type": "number"}, "count": {"type": "integer"}, "flag": {"type": "boolean"},
    "list": {"type": "array"}, "object": {"type": "object"}, "any": {}, "either": {"type": ["string", "null"]}}})");

/// As they are read; empty: nothing can be read another way.
std::string read_arguments(std::string_view text) {
    auto const meant = lenient_arguments(schema, *raw_json::read(text));
    return meant ? meant->text() : std::string();
}

std::string id_in(std::string_view line, std::size_t piece) {
    request_id_scan scan;
    for (; !line.empty(); line.remove_prefix(std::min(piece, line.size()))) scan.read(line.substr(0, piece));
    return scan.found();
}

} // namespace

TEST_CASE("lenient_arguments: what is plainly meant is taken") {
    CHECK(read_arguments(R"({"code":"1","seconds":"60"})") == R"({"code":"1","seconds":60})");
    CHECK(read_arguments(R"({"code":"1","seconds":" 1.5 ","count":"7"})") == R"({"code":"1","seconds":1.5,"count":7})");
    CHECK(read_arguments(R"({"code":"1","flag":"true"})") == R"({"code":"1","flag":true})");
    CHECK(read_arguments(R"({"code":"1","list":"[1, \"a\"]"})") == R"({"code":"1","list":[1,"a"]})");
    CHECK(read_arguments(R"({"object":"{\"b\": 1, \"a\": {}}"})") == R"({"object":{"b":1,"a":{}}})");
    CHECK(read_arguments(R"({"code":"1","seconds":null})") == R"({"code":"1"})");
    CHECK(read_arguments(R"({"code":12})") == R"({"code":"12"})");
    CHECK(read_arguments(R"("{\"code\": \"1\", \"count\": \"2\"}")") == R"({"code":"1","count":2})");
}

TEST_CASE("lenient_arguments: the rest stays as it is") {
    for (auto const* const text :
         {R"({"code":"1","seconds":60})", R"({"code":"[1]"})", R"({"code":null})", R"({"seconds":"60s"})",
          R"({"seconds":"true"})", R"({"flag":"1"})", R"({"list":"{}"})", R"({"object":"[]"})",
          R"({"object":"{'a': 1}"})", R"({"object":"{\"a\":1,\"a\":2}"})", R"({"other":null})",
          R"({"any":"1","either":"1"})", R"({"code":["1"]})", R"("text")", R"([1])", R"("[]")", R"({"code":true})",
          R"({"seconds":"1e999"})"})
        CHECK(read_arguments(text).empty());
}

TEST_CASE("request_id_scan: the id of a line that is not kept, wherever it stands") {
    std::string const params = R"("params":{"id":3,"name":"x","arguments":{"code":"\"id\":4,}{\\"}})";
    for (std::size_t const piece : {1, 2, 7, 1000}) {
        CHECK(id_in(R"({"jsonrpc":"2.0","id":7,)" + params + "}", piece) == "7");
        CHECK(id_in("{" + params + R"(, "jsonrpc":"2.0", "id" : "a\"b" })", piece) == R"("a\"b")");
        CHECK(id_in("{" + params + "}", piece).empty());
        CHECK(id_in(R"([{"id":1}])", piece).empty());
        CHECK(id_in(R"({"id":{"a":1}})", piece) != "1");
        CHECK(id_in("", piece).empty());
        CHECK(id_in(R"({"id":1,"id":2})", piece) == "1");
        CHECK(id_in(R"({"id":")" + std::string(1000, 'x') + R"("})", piece).empty());
    }
}
