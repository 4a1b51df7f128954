"""Schemas that this project has never seen, in each run others: every one yields a module that imports and judges as JSON Schema does.

What fails is made smaller and kept in kept_schemas.json, which is tried first from then on: commit it with its mend.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from pathlib import Path
from typing import Any

import pytest
from judging import difference, exact_judge_of
from packages import Packages
from pydantic import ValidationError
from shrinking import shrunk
from wild_schemas import WildSchema

KEPT = Path(__file__).with_name("kept_schemas.json")
SECONDS = 9.0  # for fresh schemas; one batch is made in any case
BATCH = 125
VALUES = 6  # for each
MOST_SHRUNK = 3


def kept() -> list[Any]:
    schemas: list[Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return schemas


def keep(schema: Any) -> None:
    lines = [json.dumps(one, ensure_ascii=False) for one in [*kept(), schema]]
    KEPT.write_text("[\n  " + ",\n  ".join(lines) + "\n]\n", encoding="utf-8")


def as_document(schema: Any) -> dict[str, Any]:
    """A kept schema is that of a whole tool, or that of its only property."""
    whole = isinstance(schema, dict) and ("properties" in schema or schema.get("type") == "object")
    return schema if whole else {"type": "object", "properties": {"a": schema}}


class Generator:
    """What is wrong with the modules of some schemas."""

    def __init__(self, packages: Packages) -> None:
        self.packages = packages
        self.count = 0

    def problems(self, documents: list[Any], values: list[list[Any]]) -> list[str | None]:
        """Of each document what is wrong: its module, or what that says of one of the values."""
        self.count += 1
        server = f"s{self.count}"
        tools = [
            {"name": f"t{at}", "inputSchema": document, "outputSchema": document}
            for at, document in enumerate(documents)
        ]
        self.packages.generate({"server": server, "tools": tools})
        return [
            self.problem(f"{server}.t{at}", document, some)
            for at, (document, some) in enumerate(zip(documents, values, strict=True))
        ]

    def problem(self, name: str, document: Any, values: list[Any]) -> str | None:
        try:
            params = self.packages.module(name).Params
        except Exception as error:
            return f"does not import: {type(error).__name__}: {error}"
        try:
            params.model_validate({})
        except ValidationError:
            pass
        except Exception as error:
            return f"cannot judge: {type(error).__name__}: {error}"
        for value in values:
            try:
                judge = exact_judge_of(document)
                valid = judge.is_valid(value)
            # circles of references have no end to the judge, some names are keywords to it, or it cannot tell
            except Exception:
                continue
            found = difference(params, value, valid, judge)
            if found:
                return f"{json.dumps(value)}: {found}"
        return None


@pytest.fixture
def generator(packages: Packages) -> Generator:
    return Generator(packages)


def test_kept_schemas(generator: Generator) -> None:
    documents = [as_document(schema) for schema in kept()]
    single = (-2, -1, 0, 1, 2, 0.5, 5, 10**31, 1e300, 0.0, 1.0, False, True, None, "0")
    values = [[{}, *({"a": value} for value in single)] for _ in documents]
    draft4 = [at for at, document in enumerate(documents) if '"exclusiveMinimum": true' in json.dumps(document)]
    for at in draft4:  # which the judge does not know
        values[at] = []
    found = generator.problems(documents, values)
    wrong = {json.dumps(document): problem for document, problem in zip(documents, found, strict=True) if problem}
    assert not wrong


@pytest.mark.filterwarnings("ignore:.*has no field")
@pytest.mark.timeout(300)
def test_fresh_schemas(generator: Generator) -> None:
    seed = int(os.environ.get("IPYBOX_RANDOM_SCHEMAS") or secrets.randbelow(10**12))
    print(f"\nscore: fresh schemas: seed {seed}", end="", flush=True)
    end = time.monotonic() + SECONDS
    wrong: list[tuple[int, Any, list[Any], str]] = []
    tried = 0
    while not wrong and (tried == 0 or time.monotonic() < end):
        wild = [WildSchema(one) for one in range(seed + tried, seed + tried + BATCH)]
        values = [
            [w.maker.fitting_object(w.document, w.document, 0) for _ in range(VALUES)] if w.well_formed else []
            for w in wild
        ]
        found = generator.problems([w.document for w in wild], values)
        wrong += [
            (seed + tried + at, wild[at].document, values[at], problem) for at, problem in enumerate(found) if problem
        ]
        tried += BATCH
    print(f", {tried} tried, {len(wrong)} wrong")

    def failing(values: list[Any]) -> Any:
        return lambda some: [bool(problem) for problem in generator.problems(some, [values] * len(some))]

    for number, document, values, problem in wrong[:MOST_SHRUNK]:
        least = shrunk(document, failing(values))
        keep(least)
        print(f"  wrong: seed {number}: {problem[:500]}\n  of: {json.dumps(least)}")
    assert not wrong, f"IPYBOX_RANDOM_SCHEMAS={wrong[0][0]} tries the first again; {KEPT.name} has them made smaller"
