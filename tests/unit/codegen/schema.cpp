#include <ipybox/codegen/schema.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace ipybox::codegen;
using names = std::vector<std::string>;

namespace {

ordered_json parsed(char const* text) { return ordered_json::parse(text); }

/// The keywords that say something, in draft 2020-12.
names said(char const* text, dialect version = dialect::draft_2020_12) {
    auto const schema = parsed(text);
    names all;
    for (auto const name : schema_keywords(schema, version).names()) all.emplace_back(name);
    return all;
}

} // namespace

TEST_CASE("schema: the dialect is what $schema says, else 2020-12") {
    CHECK(dialect_of(parsed("{}")) == dialect::draft_2020_12);
    CHECK(dialect_of(parsed(R"({"$schema": "http://json-schema.org/draft-07/schema#"})")) == dialect::draft_7);
    CHECK(dialect_of(parsed(R"({"$schema": "http://json-schema.org/draft-04/schema#"})")) == dialect::draft_7);
    CHECK(dialect_of(parsed(R"({"$schema": "https://json-schema.org/draft/2020-12/schema"})")) ==
          dialect::draft_2020_12);
    CHECK(dialect_of(parsed(R"({"$schema": 7})")) == dialect::draft_2020_12);
    CHECK(dialect_of(parsed("true")) == dialect::draft_2020_12);
}

TEST_CASE("schema: what constrains nothing is left out") {
    CHECK(said(R"({"title": "x", "description": "y", "default": 1, "format": "uri", "x-own": {}})") == names{});
    CHECK(said(R"({"minLength": 0, "minItems": 0, "uniqueItems": false, "additionalProperties": true, "items": {}})") ==
          names{});
    CHECK(said(R"({"required": [], "properties": {}, "propertyNames": {"type": "string"}, "not": false})") == names{});
    CHECK(said(R"({"if": true, "minContains": 2, "then": {"type": "null"}})") == names{"if", "then"});
    CHECK(said(R"({"if": {"type": "null"}, "minContains": 2})") == names{});
}

TEST_CASE("schema: what is malformed is left out") {
    CHECK(
        said(R"({"type": "text", "enum": "x", "minLength": "5", "pattern": 5, "required": true, "properties": []})") ==
        names{});
    CHECK(said(R"({"items": 5, "multipleOf": 0, "allOf": [], "anyOf": {}, "$ref": 5, "exclusiveMinimum": true})") ==
          names{});
    CHECK(schema_keywords(parsed(R"({"type": ["string", "text", 5]})"), dialect::draft_7).types() == kinds::string);
}

TEST_CASE("schema: each dialect has its own keywords") {
    auto const* both = R"({"prefixItems": [{}], "dependentRequired": {"a": []}, "dependencies": {"a": []}})";
    CHECK(said(both) == names{"prefixItems", "dependentRequired"});
    CHECK(said(both, dialect::draft_7) == names{"dependencies"});
    auto const* reference = R"({"$ref": "#", "type": "object"})";
    CHECK(said(reference) == names{"$ref", "type"});
    CHECK(said(reference, dialect::draft_7) == names{"$ref"});
    CHECK(said(R"({"minimum": 1, "exclusiveMinimum": true})", dialect::draft_7) ==
          names{"minimum", "exclusiveMinimum"});
}

TEST_CASE("schema: booleans") {
    CHECK(schema_keywords(parsed("false"), dialect::draft_7).forbids());
    CHECK(schema_keywords(parsed("true"), dialect::draft_7).empty());
    CHECK_FALSE(schema_keywords(parsed("false"), dialect::draft_7).empty());
}

TEST_CASE("schema: kinds of values") {
    CHECK(kind_of(parsed("1.0")) == kinds::integer);
    CHECK(kind_of(parsed("1.5")) == kinds::fraction);
    CHECK(kind_of(parsed("1e300")) == kinds::integer);
    CHECK(includes(kinds::number, kinds::integer));
    CHECK_FALSE(includes(kinds::integer, kinds::number));
}

TEST_CASE("schema: pointers lead anywhere in the document") {
    auto const root = parsed(
        R"({"$defs": {"a/b": {"type": "null"}, "c~d": true, "e%f": {}, "ä g": {"anyOf": [{}, {"const": 1}]}, "n": 5}})");
    schema_document const document(root);
    CHECK(document.resolve("#")->schema == &root);
    CHECK(document.resolve("#/$defs/a~1b")->schema->at("type") == "null");
    CHECK(document.resolve("#/$defs/a~1b")->pointer == "#/$defs/a~1b");
    CHECK(document.resolve("#/$defs/c~0d"));
    CHECK(document.resolve("#/$defs/e%25f")->pointer == "#/$defs/e%25f");
    CHECK(document.resolve("#/%24defs/%C3%A4%20g/anyOf/1")->pointer == "#/$defs/ä g/anyOf/1");
    CHECK(document.resolve(document.resolve("#/$defs/e%25f")->pointer));
    for (auto const* nothing :
         {"", "#a", "#/x", "#/$defs/n", "#/$defs/ä g/anyOf/2", "#/$defs/ä g/anyOf/01", "#/$defs/ä g/anyOf/-1",
          "#/$defs/ä g/anyOf/", "/etc/passwd", "file:///etc/passwd", "http://x/#/a"}) {
        CAPTURE(nothing);
        CHECK_FALSE(document.resolve(nothing));
    }
}

TEST_CASE("schema: what only the whole document explains") {
    auto const root = parsed(
        R"({"$id": "http://x/", "$defs": {"id": {"$id": "y", "properties": {"p": {}}}, "anchor": {"$anchor": "a"},
        "far": {"$ref": "http://y/"}, "named": {"$ref": "#a"}, "near": {"$ref": "#/$defs/id"}, "dynamic": {"$dynamicRef": "#"}, "plain": {}}})");
    schema_document const document(root);
    auto const needs = [&](char const* name) { return document.needs_document(document.root().at({"$defs", name})); };
    CHECK_FALSE(document.needs_document(document.root()));
    CHECK_FALSE(needs("near"));
    CHECK_FALSE(needs("plain"));
    for (auto const* name : {"id", "anchor", "far", "named", "dynamic"}) {
        CAPTURE(name);
        CHECK(needs(name));
    }
    CHECK(document.leaves_resource("#/$defs/id/properties/p"));
    CHECK_FALSE(document.leaves_resource("#/$defs/id"));
    CHECK_FALSE(document.leaves_resource("#/$defs/plain"));
}
