#include <ipybox/codegen/tool_module.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace ipybox;
using namespace ipybox::codegen;
using nlohmann::ordered_json;
using test::contains;

namespace {

mcp::tool tool_with(char const* schema) {
    mcp::tool tool;
    tool.name = "tool";
    tool.input_schema = ordered_json::parse(schema);
    return tool;
}

std::string module_with(char const* schema) { return tool_module(tool_with(schema)).text; }

/// The module of an object with one property `a`, which is not required.
std::string field(std::string const& schema) {
    auto const text = module_with((R"({"type": "object", "properties": {"a": )" + schema + "}}").c_str());
    auto const begin = text.find("    a: ");
    return begin == std::string::npos ? text : text.substr(begin + 4, text.find('\n', begin) - begin - 4);
}

} // namespace

TEST_CASE("tool_module: a whole module") {
    auto tool = tool_with(R"({
        "type": "object",
        "properties": {
            "order": {"type": "string", "enum": ["asc", "desc"], "description": "Sort order"},
            "page": {"type": "number", "minimum": 1},
            "query": {"type": "string", "description": "What to look\n for."}
        },
        "required": ["query"],
        "additionalProperties": false})");
    tool.name = "search-repositories";
    tool.description = "Find repositories.\n\n  Says \"why\"";
    tool.annotations = {{"readOnlyHint", true}, {"idempotentHint", true}, {"destructiveHint", false}};
    CHECK(tool_module(tool, generate_options::call_style::synchronous).text == R"(from __future__ import annotations

from typing import Literal

from pydantic import Field

from . import CLIENT
from ._mcp import Model, UNSET, to_text, tool


class Params(Model, extra="forbid"):
    query: str
    """What to look for."""
    order: Literal["asc", "desc"] = UNSET
    """Sort order"""
    page: int | float = Field(UNSET, ge=1)


@tool
def run(params: Params) -> str:
    """Find repositories.

    Says "why"

    Read-only. Idempotent.
    """
    return to_text(CLIENT.run_sync("search-repositories", params.to_arguments()))
)");
}

TEST_CASE("tool_module: what may be left out, what may be null") {
    CHECK(field(R"({"type": "string"})") == "a: str = UNSET");
    CHECK(field(R"({"type": ["string", "null"]})") == "a: str | None = UNSET");
    CHECK(field(R"({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null})") == "a: str | None = None");
    CHECK(field(R"({"type": "integer", "default": 5})") == "a: int = 5");
    CHECK(field(R"({"type": "array", "items": {"type": "string"}, "default": null})") == "a: list[str] = UNSET");
    CHECK(field(R"({"type": "array", "items": {"type": "string"}, "default": []})") == "a: list[str] = []");
    CHECK(field(R"({"const": "y"})") == R"(a: Literal["y"] = UNSET)");
    CHECK(field("{}") == "a: Any = UNSET");
    CHECK(field("false") == "a: Annotated[Any, Schema(False)] = UNSET");
}

TEST_CASE("tool_module: values") {
    CHECK(field(R"({"enum": ["a", "b", "a"]})") == R"(a: Literal["a", "b", "a"] = UNSET)");
    CHECK(field(R"({"enum": ["a", null]})") == R"(a: Literal["a"] | None = UNSET)");
    CHECK(field(R"({"enum": [0, true]})") == "a: Annotated[Literal[0, True], Schema(enum=[0, True])] = UNSET");
    CHECK(field(R"({"enum": [0.5]})") == "a: Annotated[Any, Schema(enum=[0.5])] = UNSET");
    CHECK(field(R"({"type": "string", "enum": ["a", 1]})") == R"(a: Literal["a"] = UNSET)");
    CHECK(field(R"({"type": "string", "enum": [1]})") == "a: Annotated[Any, Schema(False)] = UNSET");
    CHECK(field(R"({"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]})") == R"(a: Literal["a", "b"] = UNSET)");
}

TEST_CASE("tool_module: bounds") {
    CHECK(field(R"({"type": "integer", "minimum": 1.5, "exclusiveMaximum": 9.5})") ==
          "a: int = Field(UNSET, ge=2, le=9)");
    CHECK(field(R"({"type": "integer", "minimum": 1, "exclusiveMinimum": true})") == "a: int = Field(UNSET, gt=1)");
    CHECK(field(R"({"type": "number", "minimum": 0.5, "multipleOf": 0.1})") ==
          "a: Annotated[int | float, Schema(multipleOf=0.1)] = Field(UNSET, ge=0.5)");
    CHECK(field(R"({"type": "integer", "multipleOf": 2, "maximum": 1e300})") ==
          "a: Annotated[int, Schema(maximum=1e+300)] = Field(UNSET, multiple_of=2)");
    CHECK(field(R"({"type": ["string", "null"], "minLength": 2})") ==
          "a: Annotated[str, Field(min_length=2)] | None = UNSET");
    CHECK(field(R"({"type": "string", "pattern": "^a\\d"})") ==
          R"(a: Annotated[str, Schema(pattern="^a\\d")] = UNSET)");
}

TEST_CASE("tool_module: arrays and maps") {
    CHECK(field(R"({"type": "array"})") == "a: list[Any] = UNSET");
    CHECK(field(R"({"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1})") ==
          "a: list[Annotated[int, Field(ge=0)]] = Field(UNSET, min_length=1)");
    CHECK(
        field(
            R"({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false, "minItems": 2})") ==
        "a: Annotated[tuple[int, str], Field(strict=False)] = UNSET");
    CHECK(field(R"({"type": "array", "prefixItems": [{"type": "integer"}]})") ==
          R"(a: Annotated[list[Any], Schema(prefixItems=[{"type": "integer"}])] = UNSET)");
    CHECK(field(R"({"type": "object"})") == "a: dict[str, Any] = UNSET");
    CHECK(field(R"({"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 3})") ==
          "a: dict[str, int] = Field(UNSET, max_length=3)");
    CHECK(field(R"({"type": "object", "propertyNames": {"type": "string"}})") == "a: dict[str, Any] = UNSET");
    CHECK(field(R"({"type": "object", "required": ["x"]})") ==
          R"(a: Annotated[dict[str, Any], Schema(required=["x"])] = UNSET)");
}

TEST_CASE("tool_module: unions are checked only where members may overlap") {
    CHECK(field(R"({"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]})") ==
          "a: str | int | None = UNSET");
    CHECK(contains(field(R"({"oneOf": [{"type": "string"}, {"type": "string", "minLength": 2}]})"), "Schema(oneOf="));
    auto const shapes = field(R"({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}}, "required": ["kind"]},
        {"type": "object", "properties": {"kind": {"const": "square"}}, "required": ["kind"]}]})");
    CHECK(shapes == "a: CircleA | SquareA = UNSET");
    CHECK(field(R"({"anyOf": [{"type": "string"}, {}]})") == "a: Any = UNSET");
    CHECK(field(R"({"anyOf": [{"type": "integer"}, {"type": "number"}]})") == "a: int | float = UNSET");
}

TEST_CASE("tool_module: classes are shared, recursive, put together") {
    auto const tree =
        module_with(R"({"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": {
        "type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}})");
    CHECK(contains(tree, "class Node(Model):\n    children: list[Node] = UNSET\n"));
    CHECK(contains(tree, "    root: Node = UNSET\n"));

    auto const twins = module_with(R"({"type": "object", "properties": {
        "from": {"type": "object", "title": "from", "properties": {"x": {"type": "integer"}}},
        "to": {"type": "object", "title": "To", "properties": {"x": {"type": "integer"}}}}})");
    CHECK(contains(twins, "    from_: From = Field(UNSET, alias=\"from\")\n    to: From = UNSET\n"));

    auto const merged = module_with(R"({"type": "object", "properties": {"a": {"allOf": [
        {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}, {"$ref": "#/$defs/b"}]}},
        "$defs": {"b": {"properties": {"y": {"type": "string"}}}}})");
    CHECK(contains(merged, "class A(Model):\n    x: int\n    y: str = UNSET\n"));
}

TEST_CASE("tool_module: classes that need each other are rebuilt when the last of them is there") {
    auto const text = module_with(R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {
        "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}},
        "B": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}}})");
    CHECK(contains(text, "class B(Model):\n    a: A = UNSET\n\n\nclass A(Model):\n    b: B = "
                         "UNSET\n\n\nB.model_rebuild()\nA.model_rebuild()\n"));
}

TEST_CASE("tool_module: an object as a whole") {
    auto const text =
        module_with(R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})");
    CHECK(contains(text,
                   "@rule(Schema(anyOf=[{\"required\": [\"a\"]}, {\"required\": [\"b\"]}]))\nclass Params(Model):\n"));
    CHECK(contains(text, "def run(params: Params) -> str:"));
    auto const negated = module_with(R"({"type": "object", "not": {"required": ["a", "b"]}})");
    CHECK(contains(negated, R"(@rule(Schema({"not": {"required": ["a", "b"]}})))"));
    auto const typed =
        module_with(R"({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}})");
    CHECK(contains(typed, "    __pydantic_extra__: dict[str, int]\n"));
}

TEST_CASE("tool_module: what is long or refers elsewhere is checked in the listed schema") {
    auto const text =
        module_with(R"({"type": "object", "properties": {"a b": {"type": "string", "not": {"$ref": "#/$defs/x"}}},
        "$defs": {"x": {"const": "y"}}})");
    CHECK(contains(text, "from ._schema import schema_of\n\n_params = schema_of(\"tool\", \"inputSchema\")\n"));
    CHECK(contains(text, "    a_b: Annotated[str, _params(\"#/properties/a b\")] = Field(UNSET, alias=\"a b\")\n"));
}

TEST_CASE("tool_module: a call without arguments") {
    CHECK(contains(module_with(R"({"type": "object"})"),
                   "class Params(Model):\n    pass\n\n\n@tool\ndef run(params: Params = Params()) -> str:"));
    CHECK(contains(module_with(R"({"type": "object", "properties": {"a": {}}, "required": ["a"]})"),
                   "def run(params: Params) -> str:"));
}

TEST_CASE("tool_module: results") {
    auto tool = tool_with(R"({"type": "object", "properties": {"item": {"type": "object", "properties": {"x": {}}}}})");
    tool.output_schema = ordered_json::parse(R"({"type": "object", "properties": {
        "item": {"type": "object", "properties": {"id": {"type": "string", "minLength": 1}, "n": {"type": ["integer", "null"]}}}},
        "required": ["item"]})");
    auto const text = tool_module(tool).text;
    CHECK(contains(text, "class Item(Model):\n    x: Any = UNSET\n"));
    CHECK(contains(text, "class ResultItem(Model):\n    id: Annotated[str, Field(min_length=1)] | None = None\n    n: "
                         "int | None = None\n"));
    CHECK(contains(text, "class Result(Model):\n    item: ResultItem\n"));
    CHECK(contains(text, "-> Result:\n"));
    CHECK(contains(text, "    return to_result(Result, CLIENT.run_sync(\"tool\", params.to_arguments()))\n"));

    tool.output_schema =
        ordered_json::parse(R"({"type": "array", "items": {"type": "object", "properties": {"y": {}}}})");
    CHECK(contains(tool_module(tool).text, "\n\nResult = list[ResultItem]\n"));
}

TEST_CASE("tool_module: a wrapped result is what is in it") {
    auto tool = tool_with(R"({"type": "object"})");
    auto const wrapped = [&](std::string const& inner, char const* mark = "true") {
        tool.output_schema =
            ordered_json::parse(R"({"type": "object", "properties": {"result": )" + inner +
                                R"(}, "required": ["result"], "x-fastmcp-wrap-result": )" + mark + "}");
        return tool_module(tool).text;
    };
    auto const text = wrapped(R"({"type": "string"})");
    CHECK(contains(text, "def run(params: Params = Params()) -> str:\n"));
    CHECK(contains(text, "    return to_result(str, unwrapped(CLIENT.run_sync(\"tool\", params.to_arguments())))\n"));
    CHECK(contains(text, "import Model, to_result, tool, unwrapped\n"));
    CHECK(contains(wrapped(R"({"type": "array", "items": {"type": "integer"}})"), "\n\nResult = list[int]\n"));
    CHECK(contains(wrapped(R"({"type": "object", "properties": {"n": {}}})"),
                   "class Result(Model):\n    n: Any = None\n"));
    for (auto const* const other : {"false", "1", "null"})
        CHECK(contains(wrapped(R"({"type": "string"})", other), "class Result(Model):\n    result: str\n"));
    tool.output_schema = ordered_json::parse(R"({"x-fastmcp-wrap-result": true, "type": "object"})");
    CHECK_FALSE(contains(tool_module(tool).text, "unwrapped"));
}

TEST_CASE("tool_module: a schema that speaks of further members has a class that does") {
    auto const params = [](std::string const& more) {
        auto const schema = R"({"type": "object", "properties": {"a": {"type": "string"}})" + more + "}";
        return module_with(schema.c_str());
    };
    CHECK(contains(params(""), "class Params(Model):\n"));
    CHECK(contains(params(R"(, "additionalProperties": true)"), "class Params(Model, more=True):\n"));
    CHECK(contains(params(R"(, "additionalProperties": {})"), "class Params(Model, more=True):\n"));
    CHECK(
        contains(params(R"(, "patternProperties": {"^x": {"type": "string"}})"), "class Params(Model, more=True):\n"));
    CHECK(contains(params(R"(, "additionalProperties": false)"), "class Params(Model, extra=\"forbid\"):\n"));
}

TEST_CASE("tool_module: styles") {
    auto const tool = tool_with(R"({"type": "object"})");
    auto const awaitable = tool_module(tool, generate_options::call_style::awaitable).text;
    CHECK(contains(awaitable, "async def run(params: Params = Params()) -> str:"));
    CHECK(contains(awaitable, "to_text(await CLIENT.run(\"tool\""));
    auto const both = tool_module(tool, generate_options::call_style::both).text;
    CHECK(contains(both, "\ndef run("));
    CHECK(contains(both, "\nasync def arun("));
}

TEST_CASE("tool_module: what is documented") {
    auto const text = module_with(R"({"type": "object", "properties": {
        "url": {"type": "string", "format": "uri", "title": "Url"},
        "n": {"type": "integer", "title": "How many", "default": "x", "examples": [1, 2], "deprecated": true},
        "sort": {"anyOf": [{"const": "hot", "title": "Hot list"}, {"const": "new", "description": "The newest"}]},
        "tags": {"type": "array", "description": "Tags", "items": {"type": "string", "description": "A tag"}}}})");
    CHECK(contains(text, "    url: str = UNSET\n    \"\"\"Format: uri.\"\"\"\n"));
    CHECK(contains(text, "    \"\"\"How many. Default: \"x\". Examples: 1, 2. Deprecated.\"\"\"\n"));
    CHECK(contains(text, "    \"\"\"\"hot\": Hot list. \"new\": The newest.\"\"\"\n"));
    CHECK(contains(text, "    \"\"\"Tags. Items: A tag.\"\"\"\n"));
}

TEST_CASE("tool_module: a reference to nothing is a warning") {
    auto const made = tool_module(tool_with(R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}})"));
    CHECK(contains(made.text, "    a: Any = UNSET\n"));
    REQUIRE(made.warnings.size() == 1);
    CHECK(contains(made.warnings[0], "#/$defs/gone"));
}

TEST_CASE("tool_module: the same bytes every time") {
    auto const* schema =
        R"({"type": "object", "properties": {"b": {"type": "object", "properties": {"x": {}}}, "a": {"enum": [1, "z"]}}})";
    CHECK(module_with(schema) == module_with(schema));
}

TEST_CASE("tool_module: hostile sizes end") {
    // references that double at every step
    auto schema =
        ordered_json::parse(R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {}})");
    for (int i = 0; i < 60; ++i) {
        auto const next = "#/$defs/d" + std::to_string(i + 1);
        schema["$defs"]["d" + std::to_string(i)] = {{"type", "array"},
                                                    {"prefixItems", {{{"$ref", next}}, {{"$ref", next}}}},
                                                    {"items", false},
                                                    {"minItems", 2}};
    }
    schema["$defs"]["d60"] = {{"type", "string"}, {"default", "x"}};
    mcp::tool tool;
    tool.name = "tool";
    tool.input_schema = schema;
    CHECK(tool_module(tool).text.size() < 100'000);

    auto names = ordered_json::parse(R"({"type": "string"})");
    for (int i = 0; i < 300; ++i) names = {{"type", "object"}, {"propertyNames", names}, {"items", names.is_null()}};
    tool.input_schema = {{"type", "object"}, {"properties", {{"a", names}}}};
    CHECK(tool_module(tool).text.size() < 100'000);

    auto deep = ordered_json::parse(R"({"type": "string"})");
    for (int i = 0; i < 300; ++i) deep = {{"type", "object"}, {"properties", {{"p", deep}}}};
    tool.input_schema = {{"type", "object"}, {"properties", {{"a", deep}}}};
    CHECK(contains(tool_module(tool).text, "_params("));
}

TEST_CASE("tool_module: a schema is followed to 64 levels, and is checked as a whole below") {
    // the arguments are the first level, the property is the second
    auto const nested = [](int levels) {
        std::string schema = R"({"type": "integer"})";
        for (int i = 0; i < levels; ++i) schema = R"({"type": "array", "items": )" + schema + "}";
        return field(schema);
    };
    CHECK(contains(nested(63), "int"));
    CHECK_FALSE(contains(nested(64), "int"));
    CHECK(contains(nested(64), "_params("));
}

TEST_CASE("tool_module: an annotation of 200 parts is written, and a longer one is not") {
    // a list of integers with a bound has three parts, the union is one
    auto const with = [](std::string const& more) {
        std::string members;
        for (int i = 0; i < 66; ++i)
            members += R"({"type": "array", "items": {"type": "integer"}, "maxItems": )" + std::to_string(i) + "}, ";
        return field(R"({"anyOf": [)" + members + more + "]}");
    };
    CHECK(contains(with(R"({"type": "string"})"), "max_length=65"));
    auto const longer = with(R"({"type": "string"}, {"type": "boolean"})");
    CHECK_FALSE(contains(longer, "max_length="));
    CHECK(contains(longer, "_params("));
}

TEST_CASE("tool_module: of the values of an enumeration eight are one part") {
    auto const with_values = [](int values) {
        std::string list = R"("v0")";
        for (int i = 1; i < values; ++i) list += R"(, "v)" + std::to_string(i) + '"';
        return field(R"({"enum": [)" + list + "]}");
    };
    CHECK(contains(with_values(199 * 8 + 7), "\"v1598\""));
    CHECK_FALSE(contains(with_values(200 * 8), "\"v1598\""));
    CHECK(contains(with_values(200 * 8), "_params("));
}

TEST_CASE("tool_module: 2000 classes are written, and others are checked as a whole") {
    auto const with_classes = [](int classes) {
        mcp::tool tool = tool_with(R"({"type": "object"})"); // whose class is the first
        for (int i = 1; i < classes; ++i)
            tool.input_schema["properties"]["p" + std::to_string(i)] = {
                {"type", "object"}, {"properties", {{"q" + std::to_string(i), {{"type", "string"}}}}}};
        return tool_module(tool).text;
    };
    CHECK_FALSE(contains(with_classes(2000), "_params("));
    CHECK(contains(with_classes(2001), "_params("));
}

TEST_CASE("tool_module: two full stops of a server are one") {
    auto const text = module_with(R"({"type": "object", "properties": {
        "icon": {"type": "string", "format": "json", "description": "An [emoji](https://x.org/emoji).."},
        "rest": {"type": "string", "format": "json", "description": "And so on..."}}})");
    CHECK(contains(text, "\"\"\"An [emoji](https://x.org/emoji). Format: json.\"\"\""));
    CHECK(contains(text, "\"\"\"And so on... Format: json.\"\"\""));
}
