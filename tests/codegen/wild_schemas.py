"""Schemas that no server should list: those of `random_schemas`, changed at random in places where generators go wrong."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from hostile import TEXTS
from random_schemas import NAMES, NUMBERS, SchemaMaker

BOUNDS = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"]
NEAR = [-1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, True, *NUMBERS]
JUNK = [None, True, False, 0, -1, 1.5, 1e300, "", "a", "#", [], ["a"], [1, None], {}, {"a": 1}, {"": {}}]
KEYWORDS = [
    "type", "enum", "const", "default", "examples", "title", "description", "format", "pattern", "properties",
    "required", "additionalProperties", "patternProperties", "propertyNames", "items", "prefixItems",
    "additionalItems", "contains", "minItems", "maxLength", "uniqueItems", "allOf", "anyOf", "oneOf", "not", "if",
    "then", "$ref", "$defs", "definitions", "$id", "$anchor", "deprecated", "nullable", "dependencies", *BOUNDS,
]  # fmt: skip


class WildSchema:
    """The schema of one seed. `well_formed`: an independent validator can say what it means."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.maker = SchemaMaker(seed, old=seed % 3 == 0)
        self.document = self.maker.document()
        self.well_formed = True
        changes = [self.bound, self.bound, self.merge, self.name, self.text, self.junk]
        for _ in range(self.random.randrange(5)):
            self.random.choice(changes)()

    def schemas(self) -> list[dict[str, Any]]:
        return list(schemas_in(self.document))

    def bound(self) -> None:
        """Several bounds on one number, whole and fractional; `true` is draft 4."""
        numbers = [part for part in self.schemas() if part.get("type") in ("integer", "number")]
        if numbers:
            part = self.random.choice(numbers)
            for keyword in self.random.sample(BOUNDS, 2):
                part[keyword] = self.random.choice(NEAR)
                self.well_formed = self.well_formed and part[keyword] is not True

    def merge(self) -> None:
        """What one part says, the other says too."""
        to, what = self.random.choice(self.schemas()), copy.deepcopy(self.random.choice(self.schemas()))
        for keyword, value in what.items():
            # arguments are an object: to draft 7 a reference at the root would hide that
            if keyword not in ("$schema", "$defs", "definitions") and not (to is self.document and keyword == "$ref"):
                to.setdefault(keyword, value)

    def name(self) -> None:
        """A property with the name of something else."""
        maps = [part["properties"] for part in self.schemas() if isinstance(part.get("properties"), dict)]
        if names := self.random.choice([names for names in maps if names] or [None]):
            name = self.random.choice([*NAMES, *TEXTS, *KEYWORDS])
            names[name] = names[self.random.choice(list(names))]

    def text(self) -> None:
        part = self.random.choice(self.schemas())
        part[self.random.choice(["title", "description", "format"])] = self.random.choice(TEXTS)
        if self.maker.chance(0.3):
            part["enum"] = [self.random.choice(TEXTS), *self.random.sample(NUMBERS, 2)]

    def junk(self) -> None:
        """A keyword with a value that it cannot have."""
        self.well_formed = False
        self.random.choice(self.schemas())[self.random.choice(KEYWORDS)] = copy.deepcopy(self.random.choice(JUNK))


def schemas_in(value: Any) -> Iterator[dict[str, Any]]:
    """The objects in a document that are schemas: constants and names are none."""
    if isinstance(value, dict):
        yield value
        for keyword, part in value.items():
            if keyword in ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"):
                for inner in part.values() if isinstance(part, dict) else ():
                    yield from schemas_in(inner)
            elif keyword not in ("enum", "const", "default", "examples", "dependencies", "dependentRequired"):
                yield from schemas_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from schemas_in(part)
