"""Makes a schema that fails smaller, as long as it fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

#: Which of some schemas fail.
Failing = Callable[[list[Any]], list[bool]]

ROUNDS = 60  # a schema has hundreds of parts, and each round takes away one, or most of them
AT_ONCE = 60


def shrunk(schema: Any, failing: Failing) -> Any:
    """The smallest that is found of what fails as the schema does."""
    for _ in range(ROUNDS):
        candidates = sorted(smaller(schema), key=size)[: 4 * AT_ONCE]
        found = next(first_failing(candidates, failing), None)
        if found is None:
            break
        schema = found
    return schema


def first_failing(candidates: list[Any], failing: Failing) -> Iterator[Any]:
    for at in range(0, len(candidates), AT_ONCE):
        some = candidates[at : at + AT_ONCE]
        yield from (candidate for candidate, fails in zip(some, failing(some), strict=True) if fails)


def size(value: Any) -> int:
    return len(json.dumps(value))


def smaller(value: Any) -> Iterator[Any]:
    """The value without a part, or with a part in its place, or with a smaller part."""
    if isinstance(value, dict):
        yield from (part for part in value.values() if isinstance(part, dict))
        for name in value:
            yield {other: part for other, part in value.items() if other != name}
        for name, part in value.items():
            yield from ({**value, name: less} for less in smaller(part))
    elif isinstance(value, list):
        for at, part in enumerate(value):
            yield value[:at] + value[at + 1 :]
            yield from ([*value[:at], less, *value[at + 1 :]] for less in smaller(part))
    elif isinstance(value, str) and len(value) > 1:
        yield value[: len(value) // 2]
        yield value[len(value) // 2 :]
