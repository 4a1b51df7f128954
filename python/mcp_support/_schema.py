"""Checks by JSON Schema, for what types of Python do not say. Written by ipybox together with its package."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urldefrag, urljoin

from pydantic_core import PydanticCustomError, core_schema

from ._model import Model, to_json
from ._pattern import compiled
from ._values import Problem, as_dict, as_list, by_value, count, is_number, short, size_of

_ModelType = TypeVar("_ModelType", bound="type[Model]")


class _Active(set[tuple[int, int]]):
    """The judgements that are under way, and how many more there may be of a value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.left = _MOST_JUDGED + _JUDGED_FOR_EACH * size_of(value)


class Schema:
    """A check, for Annotated[...] and for `rule`: Schema(uniqueItems=True), Schema({"not": {...}}), Schema(False)."""

    def __init__(self, schema: Any = None, /, **keywords: Any) -> None:
        self._schema = keywords if schema is None else schema
        self._validator = Validator(self._schema)

    @classmethod
    def part_of(cls, validator: Validator, pointer: str) -> Schema:
        check = cls(validator.find(pointer, validator.base)[0])
        check._validator = validator
        return check

    def validate(self, value: Any) -> Any:
        try:
            found = self._validator.problem(self._schema, to_json(value))
        except TypeError as error:
            found = "", f"is no JSON: {error}"
        if found is not None:
            raise PydanticCustomError("json_schema", "{problem}", {"problem": f"value{found[0]} {found[1]}"})
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        return core_schema.no_info_before_validator_function(self.validate, handler(source))

    def __repr__(self) -> str:
        return f"Schema({self._schema!r})"


def rule(check: Schema) -> Callable[[_ModelType], _ModelType]:
    """Adds a check of the whole object to a class."""

    def add(cls: _ModelType) -> _ModelType:
        cls._rules = (*cls._rules, check)
        return cls

    return add


def schema_of(tool: str, kind: str) -> Callable[[str], Schema]:
    """Checks by parts of the schema that the server lists: schema_of("tool", "inputSchema")("#/properties/x")."""
    return lambda pointer: Schema.part_of(_listed(tool, kind), pointer)


@cache
def _listed(tool: str, kind: str) -> Validator:
    for entry in _tools():
        if entry["name"] == tool and kind in entry:
            schema = entry[kind]
            return Validator(schema, dialect_of(schema))
    raise LookupError(f"_schemas.json has no {kind} of the tool {tool!r}: generate the package again")


@cache
def _tools() -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = json.loads(Path(__file__).with_name("_schemas.json").read_bytes())["tools"]
    return tools


# --- JSON Schema, draft 7 and 2020-12. What is malformed or unknown constrains nothing.

_ONE = {
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
}  # fmt: skip
_MANY = {"allOf", "anyOf", "items", "oneOf", "prefixItems"}
_NAMED = {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}

#: Keywords that a dialect does not have.
_UNKNOWN = {
    "draft-07": {
        "$anchor", "$dynamicAnchor", "$dynamicRef", "dependentRequired", "dependentSchemas", "maxContains",
        "minContains", "prefixItems", "unevaluatedItems", "unevaluatedProperties",
    },
    "2020-12": {"dependencies"},
    "": set(),
}  # fmt: skip

_DEEPEST = 180  # levels of schemas; Python's own stack ends at 1000 frames
_MOST_JUDGED = 100_000  # parts of schemas for one value: alternatives of alternatives double with each level,
_JUDGED_FOR_EACH = 50  # and so many more for each value in it


def dialect_of(schema: Any) -> str:
    named = schema.get("$schema") if isinstance(schema, dict) else None
    return "draft-07" if isinstance(named, str) and re.search(r"draft-0[467]", named) else "2020-12"


class Validator:
    """Judges values by a schema, or by a part of it. References are looked for in the document alone."""

    def __init__(self, document: Any, dialect: str = "") -> None:
        self.document = document
        self.dialect = dialect
        self.unknown = _UNKNOWN[dialect]
        self.base = ""
        self._resources: dict[str, Any] = {}
        self._anchors: dict[tuple[str, str], Any] = {}
        self._dynamic: dict[tuple[str, str], Any] = {}
        self._bases: dict[int, str] = {}
        self._index(document)

    def problem(self, schema: Any, value: Any) -> Problem | None:
        """The problem of the value, or None. `schema` is the document or a part of it."""
        return self._problem(schema, value, set(), (self.base,), _Active(value))

    # --- References.

    def _index(self, document: Any) -> None:
        self._resources[""] = document
        stack = [(document, "")]
        while stack:
            schema, base = stack.pop()
            if not isinstance(schema, dict):
                continue
            name = schema.get("$id")
            if isinstance(name, str) and not (self.dialect == "draft-07" and "$ref" in schema):
                uri, fragment = urldefrag(urljoin(base, name))
                if fragment:
                    self._anchors[uri or base, fragment] = schema
                if not name.startswith("#"):
                    base = uri
                    self._resources[base] = schema
            if schema is document:
                self.base = base
            for keyword in ("$anchor", "$dynamicAnchor"):
                anchor = self._of(schema, keyword)
                if isinstance(anchor, str):
                    self._anchors[base, anchor] = schema
                    if keyword == "$dynamicAnchor":
                        self._dynamic[base, anchor] = schema
            self._bases[id(schema)] = base
            stack += [(part, base) for part in _parts(schema)]

    def find(self, reference: str, base: str) -> tuple[Any, str]:
        """The schema that a reference names (None: nothing), and the base of the references in it."""
        uri, fragment = (base, reference[1:]) if reference.startswith("#") else urldefrag(urljoin(base, reference))
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._anchors.get((uri, fragment)), uri
        found = self._resources.get(uri)
        for step in fragment.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict):
                found = found.get(step)
            elif isinstance(found, list) and re.fullmatch(r"0|[1-9][0-9]{0,9}", step) and int(step) < len(found):
                found = found[int(step)]
            else:
                return None, uri
        return found, self._bases.get(id(found), uri)

    def _find_dynamically(self, reference: str, scope: tuple[str, ...]) -> tuple[Any, str]:
        found, base = self.find(reference, scope[-1])
        name = reference.partition("#")[2]
        if self._dynamic.get((base, name)) is found is not None:
            for outer in scope:
                if (outer, name) in self._dynamic:
                    return self._dynamic[outer, name], outer
        return found, base

    def _of(self, schema: dict[str, Any], keyword: str) -> Any:
        return None if keyword in self.unknown else schema.get(keyword)

    # --- Judging. `seen` collects the names or indices that a subschema has evaluated, `scope` has the bases passed
    # through, `active` what is being judged right now.

    def _problem(
        self, schema: Any, value: Any, seen: set[Any], scope: tuple[str, ...], active: _Active
    ) -> Problem | None:
        if schema is False:
            return "", "must not be there"
        judged = id(schema), id(value)
        if not isinstance(schema, dict) or judged in active or len(active) > _DEEPEST or not active.left:
            return None  # a reference that leads to itself says nothing
        active.left -= 1
        active.add(judged)
        try:
            return self._judge(schema, value, seen, scope, active)
        finally:
            active.discard(judged)

    def _judge(
        self, schema: dict[str, Any], value: Any, seen: set[Any], scope: tuple[str, ...], active: _Active
    ) -> Problem | None:
        base = self._bases.get(id(schema), scope[-1])
        if base != scope[-1]:
            scope = (*scope, base)
        if self.dialect == "draft-07" and isinstance(schema.get("$ref"), str):
            schema = {"$ref": schema["$ref"]}
        found = by_value(schema, value) or self._in_place(schema, value, seen, scope, active)
        if found is None and isinstance(value, dict):
            found = self._of_object(schema, value, seen, scope, active)
        if found is None and isinstance(value, list):
            found = self._of_array(schema, value, seen, scope, active)
        return found

    def _in_place(
        self, schema: dict[str, Any], value: Any, seen: set[Any], scope: tuple[str, ...], active: _Active
    ) -> Problem | None:
        """Keywords whose subschemas judge the same value."""

        def judge(part: Any, scope: tuple[str, ...] = scope) -> Problem | None:
            inner: set[Any] = set()
            found = self._problem(part, value, inner, scope, active)
            if found is None:
                seen.update(inner)
            return found

        for keyword, find in (("$ref", self._find_here), ("$dynamicRef", self._find_dynamically)):
            reference = self._of(schema, keyword)
            if isinstance(reference, str):
                part, base = find(reference, scope)
                found = judge(part, (*scope, base) if base != scope[-1] else scope)
                if found:
                    return found
        for part in as_list(schema.get("allOf")):
            found = judge(part)
            if found:
                return found
        choices = as_list(schema.get("anyOf"))
        if choices:
            found_all = [judge(part) for part in choices]
            if all(found_all):
                return _nearest(found_all)
        choices = as_list(schema.get("oneOf"))
        if choices:
            inner_sets: list[set[Any]] = [set() for _ in choices]
            found_all = [self._problem(part, value, inner_sets[i], scope, active) for i, part in enumerate(choices)]
            if all(found_all):
                return _nearest(found_all)
            if found_all.count(None) > 1:
                return "", f"fits {found_all.count(None)} alternatives where it must fit one"
            seen.update(inner_sets[found_all.index(None)])
        if "not" in schema and self._problem(schema["not"], value, set(), scope, active) is None:
            return "", f"must not be {short(schema['not'])}"
        if "if" in schema:
            part = schema.get("else" if judge(schema["if"]) else "then", True)
            return judge(part)
        return None

    def _find_here(self, reference: str, scope: tuple[str, ...]) -> tuple[Any, str]:
        return self.find(reference, scope[-1])

    def _of_object(
        self, schema: dict[str, Any], value: dict[str, Any], seen: set[Any], scope: tuple[str, ...], active: _Active
    ) -> Problem | None:
        def judge(name: str, part: Any) -> Problem | None:
            seen.add(name)
            found = self._problem(part, value[name], set(), scope, active)
            return found and (f"[{name!r}]{found[0]}", found[1])

        properties = as_dict(schema.get("properties"))
        patterns = [(compiled(text), part) for text, part in as_dict(schema.get("patternProperties")).items()]
        for name in value:
            parts = [properties[name]] if name in properties else []
            parts += [part for pattern, part in patterns if pattern and pattern.search(name)]
            if not parts and "additionalProperties" in schema:
                parts = [schema["additionalProperties"]]
            for part in parts:
                found = judge(name, part)
                if found:
                    return found
            if "propertyNames" in schema:
                found = self._problem(schema["propertyNames"], name, set(), scope, active)
                if found:
                    return "", f"has the name {name!r}, which {found[1]}"
        for keyword in ("dependentRequired", "dependencies"):
            for name, needed in as_dict(self._of(schema, keyword)).items():
                for other in as_list(needed) if name in value else ():
                    if isinstance(other, str) and other not in value:
                        return "", f"must have {other!r} beside {name!r}"
        for keyword in ("dependentSchemas", "dependencies"):
            for name, part in as_dict(self._of(schema, keyword)).items():
                if name in value:
                    inner: set[Any] = set()
                    found = self._problem(part, value, inner, scope, active)
                    if found:
                        return found
                    seen.update(inner)
        rest = self._of(schema, "unevaluatedProperties")
        if rest is not None:
            for name in [name for name in value if name not in seen]:
                found = judge(name, rest)
                if found:
                    return found
        return None

    def _of_array(
        self, schema: dict[str, Any], value: list[Any], seen: set[Any], scope: tuple[str, ...], active: _Active
    ) -> Problem | None:
        def judge(index: int, part: Any) -> Problem | None:
            seen.add(index)
            found = self._problem(part, value[index], set(), scope, active)
            return found and (f"[{index}]{found[0]}", found[1])

        items = schema.get("items")
        first = items if isinstance(items, list) else as_list(self._of(schema, "prefixItems"))
        rest = schema.get("additionalItems") if isinstance(items, list) else items
        for index in range(len(value)):
            part = first[index] if index < len(first) else rest
            if part is not None:
                found = judge(index, part)
                if found:
                    return found
        if "contains" in schema:
            contains = schema["contains"]
            fitting = [i for i, item in enumerate(value) if self._problem(contains, item, set(), scope, active) is None]
            seen.update(fitting)
            least, most = self._of(schema, "minContains"), self._of(schema, "maxContains")
            least = least if is_number(least) else 1
            if len(fitting) < least:
                return "", f"must have {count(least, 'item')} that fit {short(contains)}"
            if is_number(most) and len(fitting) > most:
                return "", f"must have at most {count(most, 'item')} that fit {short(contains)}"
        rest = self._of(schema, "unevaluatedItems")
        if rest is not None:
            for index in [index for index in range(len(value)) if index not in seen]:
                found = judge(index, rest)
                if found:
                    return found
        return None


# --- Schemas of strangers.


def _parts(schema: dict[str, Any]) -> Iterator[Any]:
    """The subschemas of a schema."""
    for keyword, value in schema.items():
        if keyword in _ONE and not isinstance(value, list):
            yield value
        elif keyword in _MANY:
            yield from as_list(value)
        elif keyword in _NAMED:
            yield from as_dict(value).values()


def _nearest(found: list[Problem | None]) -> Problem:
    """The problem by the alternative that fits furthest into the value."""
    return max((problem for problem in found if problem), key=lambda problem: len(problem[0]))
