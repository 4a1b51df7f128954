#include <ipybox/core/json_text.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

using ipybox::json_text;
using nlohmann::json;
using nlohmann::ordered_json;

TEST_CASE("json_text: in one line, or a line for every member") {
    CHECK(json_text(json{{"b", {1, nullptr}}, {"a", "x"}}) == R"({"a":"x","b":[1,null]})");
    CHECK(json_text(ordered_json{{"b", 1}, {"a", 2}}) == R"({"b":1,"a":2})");
    CHECK(json_text(json{{"a", 1}}, 2) == "{\n  \"a\": 1\n}");
}

TEST_CASE("json_text: what is no UTF-8 is replaced") {
    CHECK(json_text(json("é😀")) == "\"é😀\"");
    CHECK(json_text(json{{"a\xFF", "b\xC3"}}) == "{\"a\xEF\xBF\xBD\":\"b\xEF\xBF\xBD\"}");
}
