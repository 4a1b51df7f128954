"""Random schemas, and values that nearly fit them. The same seed makes the same.

Left out is what the judge of the tests decides otherwise than the specification: multiples of fractions, and classes of Unicode
in patterns.
"""

from __future__ import annotations

from random import Random
from typing import Any

NAMES = [
    "a", "b", "name", "from", "class", "None", "a-b", "a_b", "a.b", "A", "", "$meta", "_id", "__init__", "self", "cls",
    "str", "list", "dict", "type", "model_dump", "schema", "json", "copy", "Params", "Item", "UNSET", "to_arguments",
    "é", "a b", "a/b", "a~b", "a%25b", "0", "2nd", '"', "'''", "\\", "x\ny", "items", "$ref2", "from_", "field",
]  # fmt: skip
STRINGS = ["", "a", "ab", "abc", "A", "xyz", "12", "1", "é", "🐍", "a b", '"""', "\\", "null", "true", "c-3"]
NUMBERS = [0, 1, -1, 2, 3, 5, 10, 100, 0.5, 1.5, -2.25, 1.0, 2**53, -(2**63), 2**64, 1e300]
LARGE = 10**30  # only in values: what reads schemas has it as a double
PATTERNS = ["^a", "b$", "^[a-c]+$", "[0-9]", "^.{2,3}$", "^(?!a)", "x|y", "^$"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]


class SchemaMaker:
    def __init__(self, seed: int, old: bool) -> None:
        self.random = Random(seed)
        self.old = old  # draft 7
        self.definitions = [f"d{i}" if i else "Def-0" for i in range(self.random.randrange(4))]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def document(self) -> dict[str, Any]:
        schema = self.object_schema(3)
        schema["type"] = "object"
        if self.definitions:
            schema["definitions" if self.old else "$defs"] = {name: self.schema(2) for name in self.definitions}
        if self.old:
            schema["$schema"] = "http://json-schema.org/draft-07/schema#"
        return schema

    def schema(self, depth: int) -> Any:
        """Any schema."""
        if self.chance(0.06):
            return self.random.choice([True, False, {}])
        if self.definitions and self.chance(0.08):
            return self.reference(depth)
        if depth <= 0 or self.chance(0.35):
            return self.simple()
        make = self.random.choice(
            [self.array_schema, self.object_schema, self.object_schema, self.union, self.anything, self.logic]
        )
        return self.described(make(depth))

    def described(self, schema: dict[str, Any]) -> dict[str, Any]:
        if self.chance(0.2):
            schema["description"] = self.random.choice(['Says """ why \\', "One.\n  Two.", "x"])
        if self.chance(0.1):
            schema["title"] = self.random.choice(["A title", "Item", "params"])
        if self.chance(0.15):
            schema["default"] = self.value(1)
        return schema

    def reference(self, depth: int) -> Any:
        place = "definitions" if self.old else "$defs"
        schema: dict[str, Any] = {"$ref": f"#/{place}/{self.random.choice(self.definitions)}"}
        if self.chance(0.2):
            schema.update(self.simple())
        # behind a property or an item, so that a circle of references consumes something of the value
        return (
            {"type": "array", "items": schema} if self.chance(0.5) else {"type": "object", "properties": {"r": schema}}
        )

    def simple(self) -> dict[str, Any]:
        r = self.random
        kind = r.choice([*TYPES[:5], "string", "integer", "values", "types", "const"])
        if kind == "values":
            return {"enum": [self.value(r.choice([0, 0, 0, 1])) for _ in range(r.randrange(1, 4))]}
        if kind == "const":
            return {"const": self.value(r.choice([0, 0, 1]))}
        if kind == "types":
            return self.bounded({"type": r.sample(TYPES, r.randrange(1, 4))})
        return self.bounded({"type": kind})

    def bounded(self, schema: dict[str, Any]) -> dict[str, Any]:
        r = self.random
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if {"integer", "number"} & set(types):
            if self.chance(0.3):
                schema[r.choice(["minimum", "exclusiveMinimum"])] = r.choice(NUMBERS)
            if self.chance(0.3):
                schema[r.choice(["maximum", "exclusiveMaximum"])] = r.choice(NUMBERS)
            if self.chance(0.15):
                schema["multipleOf"] = r.choice([1, 2, 3, 7])
        if "string" in types:
            if self.chance(0.25):
                schema["minLength"] = r.choice([0, 1, 2, 3.0])
            if self.chance(0.25):
                schema["maxLength"] = r.choice([0, 1, 2, 5])
            if self.chance(0.2):
                schema["pattern"] = r.choice(PATTERNS)
            if self.chance(0.2):
                schema["format"] = r.choice(["email", "uri", "date", "own"])
        if self.chance(0.05):
            schema["enum"] = [self.value(0) for _ in range(3)]
        return schema

    def array_schema(self, depth: int) -> dict[str, Any]:
        r = self.random
        schema: dict[str, Any] = {"type": "array"}
        if self.chance(0.7):
            schema["items"] = self.schema(depth - 1)
        if self.chance(0.25):
            first = [self.schema(depth - 1) for _ in range(r.randrange(1, 4))]
            closed = r.choice([False, False, self.schema(0)])
            if self.old:
                schema["items"] = first
                if self.chance(0.7):
                    schema["additionalItems"] = closed
            else:
                schema["prefixItems"] = first
                schema["items"] = closed
            if self.chance(0.6):
                schema["minItems"] = len(first)
        for keyword, share in (("minItems", 0.1), ("maxItems", 0.15)):
            if self.chance(share):
                schema[keyword] = r.randrange(4)
        if self.chance(0.15):
            schema["uniqueItems"] = r.choice([True, True, False])
        if self.chance(0.12):
            schema["contains"] = self.simple()
            if not self.old and self.chance(0.5):
                schema["minContains"] = r.randrange(3)
            if not self.old and self.chance(0.3):
                schema["maxContains"] = r.randrange(1, 3)
        return schema

    def object_schema(self, depth: int) -> dict[str, Any]:
        r = self.random
        names = r.sample(NAMES, r.randrange(0, 6))
        schema: dict[str, Any] = {"type": "object"}
        if names:
            schema["properties"] = {name: self.schema(depth - 1) for name in names}
        if self.chance(0.6):
            schema["required"] = r.sample(names, r.randrange(len(names) + 1)) + (["zz"] if self.chance(0.08) else [])
        if self.chance(0.5):
            schema["additionalProperties"] = r.choice([True, False, False, self.schema(0)])
        for keyword, share in (("minProperties", 0.1), ("maxProperties", 0.1)):
            if self.chance(share):
                schema[keyword] = r.randrange(4)
        if self.chance(0.1):
            schema["patternProperties"] = {r.choice(PATTERNS): self.schema(0)}
        if self.chance(0.1):
            schema["propertyNames"] = r.choice([{"type": "string"}, {"maxLength": 3}, {"pattern": "^[a-z]"}, True])
        if self.chance(0.1):
            needs = {r.choice(NAMES): r.sample(NAMES, 2)}
            schema["dependencies" if self.old else "dependentRequired"] = needs
        if not self.old and self.chance(0.06):
            schema["dependentSchemas"] = {r.choice(NAMES): self.object_schema(0)}
        if not self.old and self.chance(0.06):
            schema["unevaluatedProperties"] = r.choice([False, {"type": "string"}])
        if self.chance(0.12):
            schema["anyOf"] = [{"required": [name]} for name in r.sample(NAMES, 2)]
        return schema

    def union(self, depth: int) -> dict[str, Any]:
        r = self.random
        members = [self.schema(depth - 1) for _ in range(r.randrange(1, 4))]
        if self.chance(0.3):
            members = [
                {"type": "object", "properties": {"kind": {"const": tag}, "x": self.simple()}, "required": ["kind"]}
                for tag in ("one", "two", "two")[: r.randrange(2, 4)]
            ]
        if self.chance(0.3):
            members.append({"type": "null"})
        return {r.choice(["anyOf", "oneOf"]): members}

    def anything(self, depth: int) -> dict[str, Any]:
        """Keywords without a type."""
        schema = {**self.object_schema(depth - 1), **self.bounded({"type": self.random.choice(TYPES)})}
        del schema["type"]
        return schema

    def logic(self, depth: int) -> dict[str, Any]:
        r = self.random
        kind = r.choice(["allOf", "allOf", "not", "if", "merge"])
        if kind == "allOf":
            return {"allOf": [self.schema(depth - 1) for _ in range(r.randrange(1, 3))]}
        if kind == "not":
            return {**self.simple(), "not": self.schema(0)}
        if kind == "if":
            return {"if": self.schema(0), "then": self.schema(0), "else": self.schema(0)}
        return {
            "type": "object",
            "allOf": [
                {"type": "object", "properties": {name: self.simple()}, "required": [name] if self.chance(0.5) else []}
                for name in r.sample(NAMES, 2)
            ],
        }

    # --- Values.

    def value(self, depth: int) -> Any:
        """Any value."""
        r = self.random
        kind = r.randrange(9 if depth > 0 else 6)
        if kind < 2:
            return r.choice(STRINGS)
        if kind < 4:
            return r.choice(NUMBERS)
        if kind < 6:
            return r.choice([None, True, False])
        if kind == 6:
            return [self.value(depth - 1) for _ in range(r.randrange(4))]
        return {r.choice(NAMES): self.value(depth - 1) for _ in range(r.randrange(4))}

    def fitting(self, schema: Any, document: dict[str, Any], depth: int = 0) -> Any:
        """A value that has a good chance to fit."""
        r = self.random
        if not isinstance(schema, dict) or not schema or depth > 6 or self.chance(0.06):
            return self.value(2)
        if "$ref" in schema:
            place, name = schema["$ref"].split("/")[1:]
            return self.fitting(document[place][name], document, depth + 1)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return r.choice(schema["enum"])
        for keyword in ("anyOf", "oneOf", "allOf"):
            if keyword in schema and "properties" not in schema:
                return self.fitting(r.choice(schema[keyword]), document, depth + 1)
        if "if" in schema:
            return self.fitting(r.choice([schema["then"], schema["else"]]), document, depth + 1)
        types = schema.get("type", "object" if "properties" in schema else r.choice(TYPES))
        kind = r.choice(types) if isinstance(types, list) else types
        if kind == "object":
            return self.fitting_object(schema, document, depth)
        if kind == "array":
            return self.fitting_array(schema, document, depth)
        if kind == "integer":
            return r.choice([*(number for number in NUMBERS if number == int(number)), LARGE])
        if kind == "number":
            return r.choice([*NUMBERS, LARGE])
        if kind == "string":
            return r.choice(STRINGS)
        return None if kind == "null" else r.choice([True, False])

    def fitting_object(self, schema: dict[str, Any], document: dict[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", [])
        value = {
            name: self.fitting(part, document, depth + 1)
            for name, part in schema.get("properties", {}).items()
            if self.chance(0.93 if name in required else 0.5)
        }
        rest = schema.get("additionalProperties", True)
        if self.chance(0.1 if rest is False else 0.3):
            value[self.random.choice([*NAMES, "zz"])] = self.fitting(rest, document, depth + 1)
        return value

    def fitting_array(self, schema: dict[str, Any], document: dict[str, Any], depth: int) -> list[Any]:
        items = schema.get("items", {})
        first = items if isinstance(items, list) else schema.get("prefixItems", [])
        rest = schema.get("additionalItems", {}) if isinstance(items, list) else items
        value = [self.fitting(part, document, depth + 1) for part in first if self.chance(0.95)]
        more = 0 if rest is False and self.chance(0.9) else self.random.randrange(4)
        return value + [self.fitting(rest, document, depth + 1) for _ in range(more)]
