"""Values of JSON, and the keywords of JSON Schema that judge them without subschemas. Written by ipybox."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from ._pattern import compiled

#: Where in the value, and what is wrong there.
Problem = tuple[str, str]


def by_value(schema: dict[str, Any], value: Any) -> Problem | None:
    """The problem of a value by the keywords that have no subschemas, or None."""
    types = schema.get("type")
    if types is not None and not _is_of(types, value):
        return "", f"must be {_listing(types if isinstance(types, list) else [types])}, not {_kind(value)}"
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(equal(value, choice) for choice in choices):
        return "", f"must be one of {short(choices)}"
    if "const" in schema and not equal(value, schema["const"]):
        return "", f"must be {short(schema['const'])}"
    sentences = _SENTENCES.get(_kind(value))
    for sentence in sentences(schema, value) if sentences else ():
        return "", sentence
    return None


def equal(a: Any, b: Any) -> bool:
    """Whether two values are the same to JSON: 1 is 1.0, and true is not 1."""
    return bool(_key(a) == _key(b))


def _key(value: Any) -> Any:
    if isinstance(value, dict):
        return "object", frozenset((name, _key(item)) for name, item in value.items())
    if isinstance(value, list):
        return "array", tuple(map(_key, value))
    return isinstance(value, bool), value


def size_of(value: Any) -> int:
    """How many values there are in a value, with itself."""
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + sum(map(size_of, value)) if isinstance(value, list) else 1


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "integer" if value == value // 1 else "number"
    for kind, name in ((str, "string"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return type(value).__name__


_KINDS = {"null", "boolean", "integer", "number", "string", "array", "object"}


def _is_of(types: Any, value: Any) -> bool:
    known = [
        name for name in (types if isinstance(types, list) else [types]) if isinstance(name, str) and name in _KINDS
    ]
    kind = _kind(value)
    return not known or kind in known or (kind == "integer" and "number" in known)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _of_number(schema: dict[str, Any], value: Any) -> Iterator[str]:
    least: Any = schema.get("minimum")
    most: Any = schema.get("maximum")
    above: Any = schema.get("exclusiveMinimum")
    below: Any = schema.get("exclusiveMaximum")
    if above is True:  # draft 4
        above, least = least, None
    if below is True:
        below, most = most, None
    if is_number(least) and value < least:
        yield f"must be at least {least}"
    if is_number(above) and value <= above:
        yield f"must be more than {above}"
    if is_number(most) and value > most:
        yield f"must be at most {most}"
    if is_number(below) and value >= below:
        yield f"must be less than {below}"
    step: Any = schema.get("multipleOf")
    if is_number(step) and step > 0 and not _is_multiple(value, step):
        yield f"must be a multiple of {step}"


def _is_multiple(value: Any, step: Any) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    from fractions import Fraction  # exact: 0.3 is a multiple of 0.1

    return (Fraction(str(value)) / Fraction(str(step))).denominator == 1


def _of_string(schema: dict[str, Any], value: str) -> Iterator[str]:
    yield from _of_size(schema, len(value), "Length", "character")
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        expression = compiled(pattern)
        if expression and expression.search(value) is False:
            yield f"must match {pattern}"


def _of_list(schema: dict[str, Any], value: list[Any]) -> Iterator[str]:
    yield from _of_size(schema, len(value), "Items", "item")
    if schema.get("uniqueItems") is True and len({_key(item) for item in value}) < len(value):
        yield "must not have the same item twice"


def _of_members(schema: dict[str, Any], value: dict[str, Any]) -> Iterator[str]:
    yield from _of_size(schema, len(value), "Properties", "member")
    for name in as_list(schema.get("required")):
        if isinstance(name, str) and name not in value:
            yield f"must have {name!r}"


def _of_size(schema: dict[str, Any], size: int, what: str, thing: str) -> Iterator[str]:
    least: Any = schema.get(f"min{what}")
    most: Any = schema.get(f"max{what}")
    if is_number(least) and size < least:
        yield f"must have at least {count(least, thing)}"
    if is_number(most) and size > most:
        yield f"must have at most {count(most, thing)}"


_SENTENCES: dict[str, Callable[[dict[str, Any], Any], Iterator[str]]] = {
    "integer": _of_number,
    "number": _of_number,
    "string": _of_string,
    "array": _of_list,
    "object": _of_members,
}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def count(number: Any, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _listing(words: list[Any]) -> str:
    return " or ".join(map(str, words))


def short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"
