"""Arguments that do not fit, in one sentence. Written by ipybox together with its package."""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from pathlib import Path
from reprlib import Repr
from sys import _getframe
from typing import Any

_MOST_PROBLEMS = 8

_repr = Repr()
_repr.maxstring = _repr.maxother = 60


class ArgumentsError(ValueError):
    """Arguments that do not fit their schema. The text says which, and what to write; `errors()` says it as data."""

    def __init__(self, text: str, problems: list[dict[str, Any]] | None = None) -> None:
        super().__init__(text)
        self._problems = problems or []

    def errors(self) -> list[dict[str, Any]]:
        """For each field that does not fit: where it is (`loc`), what is wrong (`msg`), and the value (`input`)."""
        return self._problems


def readable(cls: Any, problems: list[dict[str, Any]], given: Any, usage: str) -> ArgumentsError:
    """The error that says what of `given` does not fit a class. `problems` are those of Pydantic."""
    reasons: dict[tuple[Any, ...], list[str]] = {}
    inputs: dict[tuple[Any, ...], Any] = {}
    missing, unknown = [], []
    for one in problems:
        place, found = place_of(one["loc"], given, one["type"] == "missing")
        if one["type"] == "missing":
            missing.append(place)
        if one["type"] == "extra_forbidden":
            unknown.append(place)
        if one["msg"] not in reasons.setdefault(place, []):
            reasons[place].append(one["msg"])
        inputs[place] = found
    fields = names_of(cls)
    if cls.model_config.get("extra") == "allow":  # a name like that of a field that is missing is a misspelt one
        lacking = [str(place[0]) for place in missing if len(place) == 1]
        for word in given:
            if word not in fields and get_close_matches(word, lacking, n=1):
                unknown.append((word,))
                inputs[unknown[-1]] = given[word]
    for place in unknown:
        close = get_close_matches(str(place[-1]), fields, n=1) if len(place) == 1 else []
        reasons[place] = ["There is no such field" + (f": did you mean {close[0]!r}?" if close else "")]
        if close and (close[0],) in missing:
            reasons.pop((close[0],), None)
            missing.remove((close[0],))
    number, integer = "Input should be a valid number", "Input should be a valid integer"
    told = []
    for place, texts in reasons.items():
        if number in texts and integer in texts:
            texts.remove(integer)
        told.append({"loc": place, "msg": "; or: ".join(texts), "input": inputs[place]})
    return ArgumentsError(_sentence(cls, told, {place for place in missing if len(place) == 1}, usage), told)


def _sentence(cls: Any, problems: list[dict[str, Any]], missing: set[tuple[Any, ...]], usage: str) -> str:
    tool = cls.__module__.rpartition(".")[2]
    name = f"{tool}.run" if cls.__name__ == "Params" else f"{tool}.{cls.__name__}"
    others = [_problem(one) for one in problems if one["loc"] not in missing]
    if len(others) > _MOST_PROBLEMS:
        others[_MOST_PROBLEMS:] = [f"and {len(others) - _MOST_PROBLEMS} more"]
    lacking = ", ".join(str(one["loc"][0]) for one in problems if one["loc"] in missing)
    if not lacking:
        return f"{name}(): {'; '.join(others)}"
    more = f"; and {'; '.join(others)}" if others else ""
    return f"{name}() needs {lacking}: write {name}({usage}){more}"


def _problem(one: dict[str, Any]) -> str:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in one["loc"]).removeprefix(".")
    text = one["msg"].replace("Input should", "should")
    if text == "Field required":
        return f"{place} is missing"
    if text.startswith("There is no such field"):
        return f"there is no field {place!r}{text.removeprefix('There is no such field')}"
    separator = " " if text.startswith("should") else ": "
    value = f", not {_repr.repr(one['input'])}" if text.startswith("should") else ""
    return f"{place or 'it'}{separator}{text}{value}"


def place_of(where: tuple[int | str, ...], given: Any, is_missing: bool) -> tuple[tuple[int | str, ...], Any]:
    """The place of an error in what was given. Pydantic also names the alternatives of unions on the way."""
    place: list[int | str] = []
    for index, step in enumerate(where):
        members = range(len(given)) if isinstance(given, list) else given if isinstance(given, dict) else ()
        if step in members:
            given = given[step]
        elif not (is_missing and index == len(where) - 1 and isinstance(given, dict)):
            continue
        place.append(step)
    return tuple(place), given


def json_name(name: str, field: Any) -> str:
    return name if field.alias is None else str(field.alias)


def names_of(cls: Any) -> list[str]:
    """The names of the fields of a class, in Python and in JSON."""
    fields = cls.model_fields
    return list(dict.fromkeys([*fields, *(json_name(name, field) for name, field in fields.items())]))


def fields_of(names: Any) -> str:
    """Names for a sentence: not all where they are many."""
    listed = [str(name) for name in names]
    return (", ".join(listed[:20]) + (f" and {len(listed) - 20} more" if len(listed) > 20 else "")) or "nothing"


def warn(text: str) -> None:
    """Warns at the line that called into the package."""
    here, level, frame = str(Path(__file__).parent / " ")[:-1], 2, _getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(here):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


def warn_of_undeclared(made: Any, is_given: set[int]) -> None:
    """Warns of members that no schema declares, in the model and in those that were made with it."""
    cls = type(made)
    tells = cls.model_fields and not cls._more and "__pydantic_extra__" not in cls.__annotations__
    for word in made.__pydantic_extra__ or ():
        close = get_close_matches(word, names_of(cls), n=1, cutoff=0.75)
        if close:
            warn(f"{cls.__name__} has no field {word!r} and sends it as it is: did you mean {close[0]!r}?")
        elif tells:
            warn(
                f"{cls.__name__} has no field {word!r} and sends it as it is, which its server may ignore: "
                f"its fields are {fields_of(cls.model_fields)}"
            )
    below = list(vars(made).values())
    while below:
        value = below.pop()
        if isinstance(value, dict):
            below.extend(value.values())
        elif isinstance(value, list):
            below.extend(value)
        elif hasattr(type(value), "__pydantic_validator__") and id(value) not in is_given:
            warn_of_undeclared(value, is_given)
