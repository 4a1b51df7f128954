#include <ipybox/tools/tool_type.hpp>
#include <ipybox/tools/tool_value.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "support/catch.hpp"

namespace fleet {

enum class mood { calm = 0, cross = 7, asleep = 1 << 20, unknown = -1 };
NLOHMANN_JSON_SERIALIZE_ENUM(
    mood, {{mood::unknown, nullptr}, {mood::calm, "calm"}, {mood::cross, "cross"}, {mood::asleep, "asleep"}})

struct point {
    double x = 0;
    double y = 0;
};
IPYBOX_TOOL_TYPE(point, x, y)

struct robot {
    std::string name;
    point at;
    std::optional<mood> state;
    std::vector<robot> followers;
};
IPYBOX_TOOL_TYPE(robot, name, at, state, followers)

struct limits {
    int speed = 5;
    std::string unit = "m/s";
};
IPYBOX_TOOL_TYPE_WITH_DEFAULT(limits, speed, unit)

/// nlohmann/json converts it already.
struct known {
    int a = 1;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(known, a)
IPYBOX_TOOL_SCHEMA(known, a)

struct nothing {};
IPYBOX_TOOL_TYPE(nothing)

enum class grade : char { best = 'A', next = 'B' };
NLOHMANN_JSON_SERIALIZE_ENUM(grade, {{grade::best, "A"}, {grade::next, "B"}})

enum class gate : bool { shut, open };
NLOHMANN_JSON_SERIALIZE_ENUM(gate, {{gate::shut, "shut"}, {gate::open, "open"}})

/// Not described itself.
struct tall_point : point {
    double z = 0;
};

template <class T>
struct boxed {
    T held{};
};
IPYBOX_TOOL_TYPE(boxed<fleet::point>, held)

/// It can be read in two ways at each level.
struct heap {
    std::vector<std::variant<std::vector<heap>, std::vector<std::variant<heap, int>>>> parts;
};
IPYBOX_TOOL_TYPE(heap, parts)

/// A type of another library.
struct colour {
    std::string hex;
};
inline void to_json(nlohmann::json& json, colour const& value) { json = "#" + value.hex; }
inline void from_json(nlohmann::json const& json, colour& value) { value.hex = json.get<std::string>().substr(1); }

} // namespace fleet

namespace other {

struct point {
    int n = 0;
};
IPYBOX_TOOL_TYPE(point, n)

} // namespace other

template <>
struct ipybox::tool_schema<fleet::colour> {
    static nlohmann::ordered_json schema() { return {{"type", "string"}, {"minLength", 7}}; }
};

namespace {

using namespace ipybox;
using namespace ipybox::detail;
using nlohmann::json;
using nlohmann::ordered_json;

template <class T>
std::string schema() {
    return whole_schema_of<T>().dump();
}

/// A value to JSON and back, and to JSON again.
template <class T>
std::string round(T const& value) {
    auto const there = json_from(value).dump();
    auto const back = value_from<T>(json::parse(there));
    CHECK(json_from(back).dump() == there);
    CHECK_FALSE(find_mismatch(whole_schema_of<T>(), json::parse(there)));
    return there;
}

} // namespace

TEST_CASE("tool_schema: plain types", "[fast]") {
    CHECK(schema<bool>() == R"({"type":"boolean"})");
    CHECK(schema<int>() == R"({"type":"integer"})");
    CHECK(schema<unsigned>() == R"({"type":"integer","minimum":0})");
    CHECK(schema<std::int8_t>() == R"({"type":"integer","minimum":-128,"maximum":127})");
    CHECK(schema<float>() == R"({"type":"number"})");
    CHECK(schema<std::string>() == R"({"type":"string"})");
    CHECK(schema<std::filesystem::path>() == R"({"type":"string"})");
    CHECK(schema<json>() == "{}");
    CHECK(schema<std::monostate>() == R"({"type":"null"})");
    CHECK(schema<std::optional<int>>() == R"({"anyOf":[{"type":"integer"},{"type":"null"}]})");
    CHECK(schema<std::vector<std::deque<bool>>>() ==
          R"({"type":"array","items":{"type":"array","items":{"type":"boolean"}}})");
    CHECK(schema<std::set<int>>() == R"({"type":"array","items":{"type":"integer"}})");
    CHECK(schema<std::array<int, 2>>() == R"({"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2})");
    CHECK(schema<std::unordered_map<std::string, int>>() ==
          R"({"type":"object","additionalProperties":{"type":"integer"}})");
    CHECK(schema<std::pair<int, bool>>() ==
          R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"boolean"}],"items":false,"minItems":2})");
    CHECK(schema<std::variant<int, std::string>>() == R"({"anyOf":[{"type":"integer"},{"type":"string"}]})");
}

TEST_CASE("tool_schema: enumerations have the values that come back", "[fast]") {
    CHECK(schema<fleet::mood>() == R"({"enum":["calm","cross","asleep"]})");
    CHECK(round(std::vector{fleet::mood::cross, fleet::mood::asleep}) == R"(["cross","asleep"])");
    CHECK(round(std::vector{fleet::grade::next, fleet::grade::best}) == R"(["B","A"])");
    CHECK(round(std::vector{fleet::gate::open, fleet::gate::shut}) == R"(["open","shut"])");
}

TEST_CASE("tool_schema: structs", "[fast]") {
    CHECK(
        schema<fleet::point>() ==
        R"({"$ref":"#/$defs/point","$defs":{"point":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},)"
        R"("required":["x","y"],"additionalProperties":false}}})");
    auto const robot = whole_schema_of<fleet::robot>().at("$defs");
    CHECK(robot.size() == 2);
    CHECK(robot.at("robot").at("properties").at("followers").at("items").at("$ref") == "#/$defs/robot");
    CHECK(robot.at("robot").at("required") == ordered_json{"name", "at", "followers"});
    CHECK_FALSE(whole_schema_of<fleet::limits>().at("$defs").at("limits").contains("required"));
    auto const two = whole_schema_of<std::tuple<fleet::point, other::point>>();
    CHECK(two.at("prefixItems").dump() == R"([{"$ref":"#/$defs/point"},{"$ref":"#/$defs/point_2"}])");
    CHECK(schema<fleet::colour>() == R"({"type":"string","minLength":7})");
    CHECK(whole_schema_of<fleet::boxed<fleet::point>>().at("$ref") == "#/$defs/boxed");
    // Described as its base it would lose what it has itself.
    CHECK_FALSE(is_described<fleet::tall_point>());
    CHECK(
        schema<fleet::nothing>() ==
        R"({"$ref":"#/$defs/nothing","$defs":{"nothing":{"type":"object","properties":{},"additionalProperties":false}}})");
}

TEST_CASE("tool_value: there and back", "[fast]") {
    CHECK(
        round(fleet::robot{"a", {1, 2.5}, fleet::mood::calm, {{"b", {}, {}, {}}}}) ==
        R"({"name":"a","at":{"x":1.0,"y":2.5},"state":"calm","followers":[{"name":"b","at":{"x":0.0,"y":0.0},"followers":[]}]})");
    CHECK(round(std::map<std::string, std::variant<int, double, std::string, fleet::point>>{
              {"a", 1}, {"b", 1.5}, {"c", "x"}, {"d", fleet::point{}}}) ==
          R"({"a":1,"b":1.5,"c":"x","d":{"x":0.0,"y":0.0}})");
    CHECK(round(std::tuple(1, std::optional<bool>(), std::array{1, 2})) == "[1,null,[1,2]]");
    CHECK(round(std::vector<bool>{true, false}) == "[true,false]");
    CHECK(round(std::vector{fleet::colour{"ff0000"}}) == R"(["#ff0000"])");
    CHECK(round(std::filesystem::path("/a/b")) == R"("/a/b")");
    CHECK(round(fleet::known{4}) == R"({"a":4})");
    CHECK(value_from<fleet::limits>(json{{"speed", 9}}).unit == "m/s");
    CHECK(json(fleet::point{1, 2}).get<fleet::point>().y == 2);
}

TEST_CASE("tool_value: a map of 100,000 members ends, and has all of them", "[fast]") {
    // Looking for each name among all before it takes minutes without optimisation.
    std::map<std::string, int> many;
    for (int i = 0; i < 100'000; ++i) many.emplace("n" + std::to_string(i), i);
    auto const converted = json_from(many);
    REQUIRE(converted.size() == many.size());
    auto next = many.begin();
    for (auto const& [name, value] : converted.items()) {
        if (name != next->first || value != next->second) FAIL(name);
        ++next;
    }
}

TEST_CASE("tool_value: names and paths that are not UTF-8 are refused, as two of them could become one", "[fast]") {
    auto const refusal = [](auto const& value) {
        try {
            return json_from(value).dump();
        } catch (std::invalid_argument const& wrong) { return std::string(wrong.what()); }
    };
    CHECK(refusal(std::filesystem::path("a\xFF"
                                        "b")) == "a path that is not UTF-8: a\xFF"
                                                 "b");
    CHECK(refusal(std::vector{std::filesystem::path("\xC3")}) == "a path that is not UTF-8: \xC3");
    CHECK(refusal(std::map<std::string, int>{{"x\xFF", 1}, {"x\xFE", 2}}) == "a name that is not UTF-8: x\xFE");
    CHECK(refusal(std::map<std::string, std::filesystem::path>{{"é", "/ü"}}) == R"({"é":"/ü"})");
}

TEST_CASE("tool_value: a map in which a name may be twice is not a type of tools", "[fast]") {
    CHECK(is_described<std::map<std::string, int>>());
    CHECK(is_described<std::unordered_map<std::string, int>>());
    CHECK_FALSE(is_described<std::multimap<std::string, int>>());
    CHECK_FALSE(is_described<std::unordered_multimap<std::string, int>>());
    CHECK_FALSE(is_described<std::vector<std::multimap<std::string, int>>>());
}

TEST_CASE("tool_value: integers are exact or refused", "[fast]") {
    CHECK(value_from<std::uint64_t>(json(std::numeric_limits<std::uint64_t>::max())) ==
          std::numeric_limits<std::uint64_t>::max());
    CHECK(value_from<std::int64_t>(json(std::numeric_limits<std::int64_t>::min())) ==
          std::numeric_limits<std::int64_t>::min());
    CHECK(value_from<int>(json(3.0)) == 3);
    CHECK_THROWS_AS(value_from<int>(json(3'000'000'000)), std::invalid_argument);
    CHECK_THROWS_AS(value_from<unsigned>(json(-1)), std::invalid_argument);
    CHECK_THROWS_AS(value_from<std::int64_t>(json(1e30)), std::invalid_argument);
    CHECK_THROWS_AS(value_from<std::uint64_t>(json(0x1p63)), std::invalid_argument);
    CHECK_THROWS_WITH(value_from<fleet::known>(json{{"a", 1e12}}), "a: has to be from -2147483648 to 2147483647");
    CHECK_THROWS_WITH(value_from<std::vector<std::int8_t>>(json{1, 2, 300}), "2: has to be from -128 to 127");
}

TEST_CASE("tool_value: numbers that JSON does not have", "[fast]") {
    CHECK_THROWS_AS(json_from(std::vector<double>{1, std::nan("")}), std::invalid_argument);
    if constexpr (std::numeric_limits<long double>::max() > std::numeric_limits<double>::max())
        CHECK_THROWS_AS(json_from(std::numeric_limits<long double>::max()), std::invalid_argument);
}

TEST_CASE("tool_value: floating-point numbers fit their type or are refused", "[fast]") {
    CHECK(value_from<float>(json(std::numeric_limits<float>::max())) == std::numeric_limits<float>::max());
    CHECK(value_from<float>(json(7)) == 7.0F);
    CHECK_THROWS_WITH(value_from<std::vector<float>>(json{1, -1e308}), "1: is too large for a number of 4 bytes");
    CHECK(std::get<double>(value_from<std::variant<float, double>>(json(1e308))) == 1e308);
}

TEST_CASE("tool_value: what can be read in exponentially many ways has an end", "[fast]") {
    json value = 99'999'999'999; // an integer, but no int
    for (int i = 0; i < 60; ++i) value = json{{"parts", json::array({json::array({std::move(value)})})}};
    check_budget budget(value.dump().size(), {});
    CHECK_THROWS_AS(value_from<fleet::heap>(value, budget), check_stopped);
}
