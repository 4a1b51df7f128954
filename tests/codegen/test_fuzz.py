"""Random schemas: generated types and an independent validator have to agree about every value."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from packages import Packages, same
from pydantic import ValidationError
from random_schemas import SchemaMaker

SCHEMAS = 2000
VALUES = 30  # for each


def judge_of(document: dict[str, Any]) -> Any:
    old = "$schema" in document
    return (jsonschema.Draft7Validator if old else jsonschema.Draft202012Validator)(document)


def accepts(validate: Any, value: Any) -> bool:
    try:
        validate(value)
    except ValidationError:
        return False
    return True


@pytest.mark.timeout(900)
def test_random_schemas(packages: Packages) -> None:
    makers = [SchemaMaker(seed, old=seed % 3 == 0) for seed in range(SCHEMAS)]
    documents = [maker.document() for maker in makers]
    tools = [{"name": f"t{seed}", "inputSchema": document} for seed, document in enumerate(documents)]
    packages.generate(*({"server": f"s{at}", "tools": tools[at : at + 500]} for at in range(0, SCHEMAS, 500)))

    counts = {"valid": 0, "invalid": 0, "not imported": 0}
    wrong: list[str] = []
    for seed, (maker, document) in enumerate(zip(makers, documents, strict=True)):
        try:
            params = packages.module(f"s{seed // 500 * 500}.t{seed}").Params
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


def difference(params: Any, value: dict[str, Any], valid: bool, judge: Any) -> str | None:
    """How the types differ from the judge about a value."""
    try:
        if accepts(params.model_validate, value) != valid:
            return f"accepted: {not valid}"
        if accepts(params.model_validate_json, json.dumps(value)) != valid:
            return f"accepted as text: {not valid}"
        if not valid:
            return None
        back = params.model_validate(value).to_arguments()
        if not same(back, value):
            return f"comes back as {back}"
        # the constructor takes a member by the Python name of a field for that field
        fields = params.model_fields.items()
        renamed = {name for name, field in fields if field.alias is not None}
        if not renamed & set(value):
            sent = params(**value).to_arguments()
            if not judge.is_valid(sent):
                return f"sends {sent}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
