#include <ipybox/mcp/argument_check.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <stop_token>
#include <string>
#include <utility>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace {

using namespace ipybox;
using namespace ipybox::detail;
using namespace ipybox::test;
using nlohmann::json;
using nlohmann::ordered_json;

/// What is wrong with a value; empty: nothing.
std::string wrong(std::string const& schema, std::string const& value) {
    auto const parsed = ordered_json::parse(schema);
    REQUIRE_FALSE(find_unchecked(parsed));
    return find_mismatch(parsed, json::parse(value)).value_or("");
}

std::string refused(std::string const& schema) { return find_unchecked(ordered_json::parse(schema)).value_or(""); }

} // namespace

TEST_CASE("argument_check: types", "[fast]") {
    CHECK(wrong(R"({"type": "integer"})", "3").empty());
    CHECK(wrong(R"({"type": "integer"})", "3.0").empty());
    CHECK(wrong(R"({"type": "integer"})", "3.5") == "the value has to be an integer, not 3.5");
    CHECK(wrong(R"({"type": ["string", "null"]})", "null").empty());
    CHECK(wrong(R"({"type": ["string", "null"]})", "[1]") == "the value has to be a string or null, not [1]");
    CHECK(wrong(R"({"type": "boolean"})", "0") == "the value has to be true or false, not 0");
    CHECK(wrong("true", "0").empty());
    CHECK(wrong("false", "0") == "the value is not expected");
}

TEST_CASE("argument_check: the place of what is wrong", "[fast]") {
    auto const matrix =
        R"({"type": "object", "properties": {"m": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}}})";
    CHECK(wrong(matrix, R"({"m": [[1, 2], [3, "x"]]})") == R"(m/1/1 has to be a number, not "x")");
    CHECK(wrong(matrix, R"({"m": [[1, 2], 3]})") == "m/1 has to be an array, not 3");
    // What code has sent may be large; the sentence is not.
    CHECK(wrong(matrix, R"({"m": ")" + std::string(100'000, 'x') + "\"}").size() < 200);
}

TEST_CASE("argument_check: objects", "[fast]") {
    auto const object =
        R"({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": false})";
    CHECK(wrong(object, R"({"a": 1})").empty());
    CHECK(wrong(object, R"({})") == "a is missing");
    CHECK(wrong(object, R"({"aa": 1, "b": 2})") == R"(a is missing, and "aa" is not known)");
    CHECK(wrong(R"({"required": ["a"]})", R"({"b": 1})") == "a is missing");
    CHECK(wrong(object, R"({"a": 1, "b": 2})") == "b is not expected");
    CHECK(wrong(R"({"additionalProperties": {"type": "integer"}})", R"({"a": 1, "b": "x"})") ==
          R"(b has to be an integer, not "x")");
    CHECK(wrong(R"({"minProperties": 1})", "{}") == "the value has to have at least 1 members");
    CHECK(wrong(R"({"maxProperties": 1})", R"({"a": 1, "b": 1})") == "the value has to have at most 1 members");
    CHECK(wrong(R"({"propertyNames": {"maxLength": 1}})", R"({"ab": 1})") == "ab has to have at most 1 characters");
    CHECK(wrong(R"({"dependentRequired": {"a": ["b"]}})", R"({"a": 1})") == "b is missing");
    CHECK(wrong(R"({"dependentSchemas": {"a": {"required": ["c"]}}})", R"({"a": 1})") == "c is missing");
}

TEST_CASE("argument_check: arrays", "[fast]") {
    CHECK(wrong(R"({"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false, "minItems": 2})",
                R"([1, "x"])")
              .empty());
    CHECK(wrong(R"({"prefixItems": [{"type": "integer"}], "items": false})", R"([1, "x"])") == "1 is not expected");
    CHECK(wrong(R"({"minItems": 2})", "[1]") == "the value has to have at least 2 items");
    CHECK(wrong(R"({"maxItems": 1})", "[1, 2]") == "the value has to have at most 1 items");
    CHECK(wrong(R"({"uniqueItems": true})", "[1, 2, 1.0]") == "the value has an item twice");
    CHECK(wrong(R"({"contains": {"type": "string"}, "maxContains": 1})", R"(["x", "y"])") ==
          "the value has too many of the items that it has to contain");
    CHECK(wrong(R"({"contains": {"type": "string"}})", "[1]") ==
          "the value has too few of the items that it has to contain");
}

TEST_CASE("argument_check: numbers and strings", "[fast]") {
    CHECK(wrong(R"({"minimum": 0})", "18446744073709551615").empty());
    CHECK(wrong(R"({"maximum": 9223372036854775807})", "9223372036854775808") ==
          "the value has to be at most 9223372036854775807");
    CHECK(wrong(R"({"minimum": -5})", "-6") == "the value has to be at least -5");
    CHECK(wrong(R"({"exclusiveMinimum": 0})", "0") == "the value has to be more than 0");
    CHECK(wrong(R"({"exclusiveMaximum": 1.5})", "1.5") == "the value has to be less than 1.5");
    CHECK(wrong(R"({"multipleOf": 3})", "10") == "the value has to be a multiple of 3");
    CHECK(wrong(R"({"multipleOf": 0.1})", "0.3").empty());
    CHECK(wrong(R"({"minLength": 2, "maxLength": 2})", R"("äö")").empty());
    CHECK(wrong(R"({"maxLength": 1})", R"("äö")") == "the value has to have at most 1 characters");
}

TEST_CASE("argument_check: alternatives, conditions and references", "[fast]") {
    CHECK(wrong(R"({"anyOf": [{"type": "integer"}, {"type": "string"}]})", R"("x")").empty());
    CHECK(contains(wrong(R"({"anyOf": [{"type": "integer"}, {"type": "string"}]})", "null"),
                   "fits none of its 2 alternatives: the value has to be an integer, not null; or the value has to be "
                   "a string, not null"));
    CHECK(wrong(R"({"oneOf": [{"type": "integer"}, {"type": "integer", "minimum": 1}]})", "null") ==
          "the value has to be an integer, not null");
    CHECK(wrong(R"({"oneOf": [{"type": "integer"}, {"minimum": 1}]})", "2") ==
          "the value fits more than one of its alternatives");
    CHECK(wrong(R"({"not": {"type": "null"}})", "null") == "the value has what it must not have");
    CHECK(wrong(R"({"allOf": [{"minimum": 1}, {"maximum": 2}]})", "3") == "the value has to be at most 2");
    auto const conditional = R"({"if": {"type": "integer"}, "then": {"minimum": 1}, "else": {"type": "string"}})";
    CHECK(wrong(conditional, "0") == "the value has to be at least 1");
    CHECK(wrong(conditional, "null") == "the value has to be a string, not null");
    CHECK(wrong(R"({"enum": ["a", 1]})", "1.0").empty());
    CHECK(wrong(R"({"enum": ["a", 1]})", "2") == R"(the value has to be one of ["a",1], not 2)");
    CHECK(wrong(R"({"const": {"a": [1]}})", R"({"a": [1.0]})").empty());
    auto const tree =
        R"({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}}})";
    CHECK(wrong(tree, R"({"next": {"next": {"n": 1}}})").empty());
    CHECK(wrong(tree, R"({"next": {"next": {"n": "x"}}})") == R"(next/next/n has to be an integer, not "x")");
    // What refers to itself alone is not followed for ever, nor taken for a value that does not fit.
    CHECK_THROWS_WITH(wrong(R"({"$ref": "#"})", "1"), "the value is nested too deeply");
    CHECK_THROWS_AS(wrong(R"({"not": {"$ref": "#/$defs/a"}, "$defs": {"a": {"$ref": "#/$defs/a"}}})", "1"),
                    check_stopped);
}

TEST_CASE("argument_check: alternatives that can be tried in exponentially many ways have an end", "[fast][large]") {
    // Each level of the value is tried twice, and fits neither alternative because of what is innermost.
    auto const schema = ordered_json::parse(
        R"({"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]},)"
        R"("a": {"type": "array", "items": {"$ref": "#/$defs/n"}}, "b": {"type": "array", "items": {"$ref": "#/$defs/n"}}}})");
    json value = "x";
    for (int i = 0; i < 100; ++i) value = json::array({std::move(value)});
    check_budget budget(value.dump().size(), {});
    CHECK_THROWS_WITH(find_mismatch(schema, value, budget),
                      "the value takes too many steps to check: leave out what is nested");
    std::stop_source stop;
    stop.request_stop();
    check_budget unneeded(std::size_t(1) << 40, stop.get_token());
    CHECK_THROWS_WITH(find_mismatch(schema, value, unneeded), "the answer is not waited for any more");
    // One step for each value of a plain schema, and some for those that can be many things.
    json many = json::array();
    for (int i = 0; i < 300'000; ++i) many.push_back(1);
    check_budget enough(many.dump().size(), {});
    CHECK_FALSE(find_mismatch(schema, many, enough));
}

TEST_CASE("argument_check: numbers are compared exactly", "[fast]") {
    CHECK_FALSE(wrong(R"({"const": -1})", "18446744073709551615").empty());
    CHECK_FALSE(wrong(R"({"enum": [[-1]]})", "[18446744073709551615]").empty());
    CHECK_FALSE(wrong(R"({"const": {"a": -1}})", R"({"a": 18446744073709551615})").empty());
    CHECK_FALSE(wrong(R"({"const": 9007199254740993})", "9007199254740992.0").empty());
    CHECK_FALSE(wrong(R"({"maximum": 9007199254740992.0})", "9007199254740993").empty());
    CHECK(wrong(R"({"const": {"a": [1, -1], "b": null}})", R"({"b": null, "a": [1.0, -1]})").empty());
    CHECK(
        wrong(R"({"uniqueItems": true})", "[-1, 18446744073709551615, 9007199254740993, 9007199254740992.0]").empty());
    CHECK_FALSE(wrong(R"({"uniqueItems": true})", R"([{"a": 1}, {"a": 1.0}])").empty());
}

TEST_CASE("argument_check: schemas that are not checked are refused", "[fast]") {
    CHECK(refused(R"({"properties": {"a": {"pattern": "^a"}}})") ==
          "the schema, at #/properties/a/pattern: this keyword is not checked on the host: leave it out, and check in "
          "the function");
    CHECK(contains(refused(R"({"unevaluatedProperties": false})"), "#/unevaluatedProperties"));
    CHECK(contains(refused(R"({"$ref": "https://example.org/x"})"), "leads out of the schema"));
    CHECK(contains(refused(R"({"$ref": "#/$defs/x"})"), "leads out of the schema"));
    CHECK(contains(refused(R"({"$ref": "#/title", "title": "x"})"), "a schema has to be an object"));
    CHECK(contains(refused(R"({"$ref": "#/examples/0", "examples": [{"pattern": "x"}]})"),
                   "this keyword is not checked"));
    CHECK(refused(R"({"$ref": "#/$defs/x", "$defs": {"x": {"items": {"$ref": "#"}}}})").empty());
    CHECK(contains(refused(R"({"type": "text"})"), "there is no such type"));
    CHECK(contains(refused(R"({"required": [1]})"), "an array of names"));
    CHECK(contains(refused(R"({"items": [{}]})"), "a schema has to be an object"));
    CHECK(contains(refused(R"({"minItems": -1})"), "a number of things"));
    CHECK(refused(R"({"format": "email", "title": "x", "description": "y", "default": 1, "examples": []})").empty());
}
