"""The JSON Schema Test Suite as tools: a schema that is tested becomes the schema of a tool's arguments."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

DIALECTS = {"draft7": "http://json-schema.org/draft-07/schema#", "draft2020-12": None}

#: What the tiers are: the vocabulary that arguments of tools are written in; identifiers, anchors and what is unevaluated;
#: references that depend on how one came there; documents that are fetched, metaschemas and vocabularies.
TIERS = {"A": "core", "B": "$id, $anchor, unevaluated*", "C": "$dynamicRef", "X": "remote, not counted"}


@dataclass
class Case:
    description: str
    value: Any
    valid: bool


@dataclass
class Group:
    name: str
    tier: str
    schema: dict[str, Any]
    cases: list[Case]


def suite_directory() -> Path:
    directory = Path(os.environ.get("IPYBOX_JSON_SCHEMA_SUITE", ""))
    if not (directory / "draft2020-12" / "ref.json").is_file():
        raise FileNotFoundError(f"there is no JSON Schema Test Suite in {directory}: ./dev test fetches it")
    return directory


def groups(dialect: str) -> Iterator[Group]:
    """Each group of the suite as a property, and where it is about objects also as the whole schema."""
    for file in sorted((suite_directory() / dialect).glob("*.json")):
        for group in json.loads(file.read_text(encoding="utf-8")):
            schema, tier = group["schema"], tier_of(group["schema"], file.stem)
            name = f"{file.stem}: {group['description']}"
            cases = [Case(test["description"], test["data"], test["valid"]) for test in group["tests"]]
            yield Group(
                f"{name} (property)", tier, as_property(schema, dialect),
                [Case(case.description, {"value": case.value}, case.valid) for case in cases],
            )  # fmt: skip
            objects = [case for case in cases if isinstance(case.value, dict)]
            if objects and can_be_root(schema, dialect):
                yield Group(f"{name} (root)", tier, with_dialect({**schema, "type": "object"}, dialect), objects)


def with_dialect(schema: dict[str, Any], dialect: str) -> dict[str, Any]:
    named = DIALECTS[dialect]
    return {"$schema": named, **schema} if named and "$schema" not in schema else schema


def as_property(schema: Any, dialect: str) -> dict[str, Any]:
    part = schema if isinstance(schema, dict) and "$id" in schema else rebased(schema)
    whole = {"type": "object", "properties": {"value": part}, "required": ["value"]}
    return with_dialect(whole, dialect)


def rebased(schema: Any) -> Any:
    """The schema with its references moved along; those below an identifier of its own stay."""
    if isinstance(schema, list):
        return [rebased(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {}
    for keyword, value in schema.items():
        if keyword in ("enum", "const"):
            moved[keyword] = value
        elif keyword in ("$ref", "$dynamicRef") and isinstance(value, str) and (value == "#" or value.startswith("#/")):
            moved[keyword] = "#/properties/value" + value[1:]
        elif isinstance(value, dict) and isinstance(value.get("$id"), str):
            moved[keyword] = value
        else:
            moved[keyword] = rebased(value)
    return moved


def can_be_root(schema: Any, dialect: str) -> bool:
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return False
    if dialect == "draft7" and "$ref" in schema:
        return False
    # to be an object would then also be asked of what refers to the root
    itself = ("#", schema.get("$id"))
    return not any(keyword == "$ref" and value in itself for keyword, value in members(schema))


def members(value: Any) -> Iterator[tuple[str, Any]]:
    """All members of all objects in a value."""
    if isinstance(value, dict):
        yield from value.items()
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from members(part)


def identifiers(value: Any, base: str = "") -> Iterator[str]:
    """Every identifier in the document, resolved; `value` may be any part of it."""
    if isinstance(value, dict):
        if isinstance(value.get("$id"), str):
            base = urldefrag(urljoin(base, value["$id"]))[0]
            yield base
        for keyword, part in value.items():
            if keyword not in ("enum", "const"):
                yield from identifiers(part, base)
    elif isinstance(value, list):
        for part in value:
            yield from identifiers(part, base)


def references(value: Any, base: str = "") -> Iterator[str]:
    """The documents that references name."""
    if isinstance(value, dict):
        if isinstance(value.get("$id"), str):
            base = urldefrag(urljoin(base, value["$id"]))[0]
        for keyword, part in value.items():
            if keyword in ("$ref", "$dynamicRef") and isinstance(part, str):
                yield base if part.startswith("#") else urldefrag(urljoin(base, part))[0]
            elif keyword not in ("enum", "const"):
                yield from references(part, base)
    elif isinstance(value, list):
        for part in value:
            yield from references(part, base)


def tier_of(schema: Any, file: str) -> str:
    if file in ("refRemote", "vocabulary", "definitions", "defs"):
        return "X"
    if not set(references(schema)) <= {"", *identifiers(schema)}:
        return "X"
    keywords = {keyword for keyword, _ in members(schema)}
    if keywords & {"$dynamicRef", "$dynamicAnchor"}:
        return "C"
    if file in ("anchor", "unevaluatedItems", "unevaluatedProperties"):
        return "B"
    if keywords & {"$id", "$anchor", "unevaluatedItems", "unevaluatedProperties"} and file in ("ref", "not"):
        return "B"
    return "A"
