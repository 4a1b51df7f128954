#include <ipybox/core/json_text.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

using ipybox::json_text;
using ipybox::detail::parse_ordered_json;
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

TEST_CASE("parse_ordered_json: values, names and their order") {
    auto const text = R"({"b":[1,-2,3.5,"x",true,null],"a":{"d":{},"c":[]},"":18446744073709551615})";
    CHECK(parse_ordered_json(text).dump() == text);
    CHECK(parse_ordered_json("7") == 7);
    CHECK(parse_ordered_json(" [] ").is_array());
    for (auto const* wrong : {"", "{", R"({"a":})", "1 2", "\"\xFF\"", "NaN"}) {
        INFO(wrong);
        CHECK(parse_ordered_json(wrong).is_discarded());
    }
}

TEST_CASE("parse_ordered_json: of equal names the last value counts, in the place of the first") {
    CHECK(parse_ordered_json(R"({"a":1,"b":2,"a":3,"c":4,"b":5,"a":6})").dump() == R"({"a":6,"b":5,"c":4})");
    CHECK(parse_ordered_json(R"([{"x":{"y":1,"y":2}},{"x":1}])").dump() == R"([{"x":{"y":2}},{"x":1}])");
}

TEST_CASE("parse_ordered_json: an object of 100,000 members ends, and has all of them") {
    // Looking for each name among all before it takes minutes without optimisation.
    constexpr std::size_t names = 100'000;
    std::string text;
    for (std::size_t i = 0; i < 2 * names; ++i) // each of them twice
        text += (i == 0 ? "{\"n" : ",\"n") + std::to_string(i % names) + "\":" + std::to_string(i);
    auto const parsed = parse_ordered_json(text + "}");
    REQUIRE(parsed.size() == names);
    std::size_t i = 0;
    for (auto const& [name, value] : parsed.items()) {
        if (name != "n" + std::to_string(i) || value != names + i) FAIL(name);
        ++i;
    }
}
