"""Random schemas: generated types and an independent validator have to agree about every value."""

from __future__ import annotations

import json
import os

import pytest
from judging import difference, judge_of
from packages import Packages
from random_schemas import SchemaMaker

SCHEMAS = 1500
VALUES = 20  # for each
FIRST = int(os.environ.get("IPYBOX_RANDOM_SCHEMAS", "0"))  # seed of the first one: others than usual are tried by hand


@pytest.mark.timeout(900)
def test_random_schemas(packages: Packages) -> None:
    makers = [SchemaMaker(seed, old=seed % 3 == 0) for seed in range(FIRST, FIRST + SCHEMAS)]
    documents = [maker.document() for maker in makers]
    tools = [{"name": f"t{at}", "inputSchema": document} for at, document in enumerate(documents)]
    packages.generate(*({"server": f"s{at}", "tools": tools[at : at + 500]} for at in range(0, SCHEMAS, 500)))

    counts = {"valid": 0, "invalid": 0, "not imported": 0}
    wrong: list[str] = []
    for at, (maker, document) in enumerate(zip(makers, documents, strict=True)):
        seed = FIRST + at
        try:
            params = packages.module(f"s{at // 500 * 500}.t{at}").Params
        except Exception as error:
            counts["not imported"] += 1
            wrong.append(f"seed {seed}: {type(error).__name__}: {error}: {json.dumps(document)}")
            continue
        judge = judge_of(document)
        for _ in range(VALUES):
            value = maker.fitting_object(document, document, 0)
            valid = judge.is_valid(value)
            counts["valid" if valid else "invalid"] += 1
            problem = difference(params, value, valid, judge)
            if problem:
                wrong.append(f"seed {seed}: {problem}: {json.dumps(value)} of {json.dumps(document)}")
    judged = counts["valid"] + counts["invalid"]
    print(
        f"\nscore: random schemas: {judged - len(wrong)} of {judged} verdicts and round trips right, "
        f"{counts['valid']} valid, {counts['invalid']} invalid, {SCHEMAS} schemas, not imported {counts['not imported']}"
    )
    for sentence in wrong[:20]:
        print("  wrong:", sentence[:1500])
    assert not wrong
    assert counts["valid"] > judged / 5
    assert counts["invalid"] > judged / 5
