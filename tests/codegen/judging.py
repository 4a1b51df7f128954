"""What an independent validator says of a value, and how generated types differ from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import jsonschema
from packages import same
from pydantic import ValidationError


def multiple_of(_: Any, step: Any, value: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    """Of numbers as they are written: 0.3 is a multiple of 0.1."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not Fraction(str(value)) % Fraction(str(step)):
        return
    if not Fraction(value) % Fraction(step):
        raise ValueError(f"whether {value} is a multiple of {step} depends on its rounding to 53 bits")
    yield jsonschema.ValidationError(f"{value} is not a multiple of {step}")


EXACT = {"multipleOf": multiple_of}
Draft7 = jsonschema.validators.extend(jsonschema.Draft7Validator, EXACT)
Draft202012 = jsonschema.validators.extend(jsonschema.Draft202012Validator, EXACT)


def judge_of(document: dict[str, Any]) -> Any:
    old = "draft-07" in document.get("$schema", "")
    return (jsonschema.Draft7Validator if old else jsonschema.Draft202012Validator)(document)


def exact_judge_of(document: dict[str, Any]) -> Any:
    """One that raises where a verdict depends on how a number is read."""
    return (Draft7 if "draft-07" in document.get("$schema", "") else Draft202012)(document)


def accepts(validate: Any, value: Any) -> bool:
    try:
        validate(value)
    except ValidationError:
        return False
    return True


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
