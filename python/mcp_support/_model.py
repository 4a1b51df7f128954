"""Objects of JSON as classes, and values of Python as JSON. Written by ipybox together with its package."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import date, time
from decimal import Decimal
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar
from uuid import UUID

try:
    from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator
    from pydantic_core import InitErrorDetails, PydanticCustomError
except ImportError as error:
    raise ImportError(
        f"tool calls need pydantic 2 ({error}); install it on the host, then start a new kernel: "
        f"{sys.executable} -m pip install 'pydantic>=2,<3'"
    ) from None

_R = TypeVar("_R")

UNSET: Any = None
"""The default of what is not sent unless it is given."""


class Model(BaseModel):
    """An object of JSON, with the fields that the tool's schema names. Fields that are not set are not sent.

    The constructor also takes what has no meaning of its own in JSON: tuples and sets for arrays; dates, paths, UUIDs
    and enumerations for strings; decimals for numbers. None leaves out what may be left out but must not be null.
    """

    model_config = ConfigDict(strict=True, extra="allow", protected_namespaces=(), allow_inf_nan=False)

    #: What a tool answered, where images and the like came with it. A slot: it is no part of the object.
    __slots__ = ("_answer",)

    #: Checks of the whole object, see `rule`.
    _rules: ClassVar[tuple[Any, ...]] = ()

    def __init__(self, /, *unnamed: Any, **values: Any) -> None:
        __tracebackhide__ = True
        if unnamed:
            raise TypeError(f"{type(self).__name__} takes its fields by name: {usage(type(self))}")
        try:
            given = {
                name: to_json(value, keep_models=True) for name, value in _by_json_name(type(self), values).items()
            }
        except RecursionError:
            raise ValueError(f"the arguments of {type(self).__name__} are nested too deeply to be sent") from None
        try:
            self.__pydantic_validator__.validate_python(given, self_instance=self)
        except ValidationError as error:
            refused = error
        else:
            _warn_of_misspelt(self)
            return
        # a model also stands for an object where the schema names no class
        plain = to_json(given)
        try:
            if not _differs(plain, given):
                raise refused
            self.__pydantic_validator__.validate_python(plain, self_instance=self)
        except ValidationError as error:
            raise _readable(error, type(self), plain) from None
        _warn_of_misspelt(self)

    # With this Pydantic does not validate by calling the constructor: model_validate() takes JSON and nothing else.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @model_validator(mode="wrap")
    @classmethod
    def _take_object(cls, value: Any, validate: Any) -> Any:
        if not isinstance(value, dict):
            return validate(value)
        refuse_non_numbers(value)
        for check in cls._rules:
            check.validate(value)
        made = with_integers(validate, value)
        # a further member may be called as the field of another one is in Python: that does not set the field
        for name in made.__pydantic_extra__ or ():
            if name in cls.model_fields and json_name(name, cls.model_fields[name]) not in value:
                made.__pydantic_fields_set__.discard(name)
        return made

    def to_arguments(self) -> dict[str, Any]:
        """The arguments that are sent: all that was set, by the names and with the values of JSON."""
        cls = type(self)
        arguments: dict[str, Any] = {}
        for name, field in cls.model_fields.items():
            value = self.__dict__.get(name)
            if name in self.model_fields_set:
                if value is None and not field.is_required() and not _takes_none(cls, name):
                    continue
            elif value is None or value == field.get_default(call_default_factory=True):
                continue
            arguments[json_name(name, field)] = to_json(value)
        for name, value in (self.__pydantic_extra__ or {}).items():
            arguments[name] = to_json(value)
        return arguments

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        fields = type(self).model_fields
        for name, value in super().__repr_args__():
            if name not in fields or name in self.model_fields_set or value is not None:
                yield name, value

    if not TYPE_CHECKING:  # who checks types shall not believe that there is any member

        def __getattr__(self, name: str) -> Any:
            if name == "parts" and name not in (self.__pydantic_extra__ or {}) and hasattr(self, "_answer"):
                return self._answer.parts
            return super().__getattr__(name)

    def _ipython_display_(self) -> None:
        if not hasattr(self, "_answer"):
            raise NotImplementedError  # displayed as everything is
        self._answer.show(self)


def needs(cls: type[Model]) -> str:
    """The fields that must be given, as in a call; `...` stands for further ones."""
    names = [name for name, field in cls.model_fields.items() if field.is_required()]
    more = ["..."] if len(cls.model_fields) > len(names) else []
    return ", ".join([f"{name}=..." for name in names] + more)


def usage(cls: type[Model]) -> str:
    return f"{cls.__name__}({needs(cls)})"


# --- Errors.


def _readable(error: ValidationError, cls: type[Model], given: Any) -> ValidationError:
    """The same with one line a field, without links, and with what a misspelt field may have meant."""
    reasons: dict[tuple[Any, ...], list[str]] = {}
    inputs: dict[tuple[Any, ...], Any] = {}
    missing, unknown = [], []
    for one in error.errors(include_url=False, include_context=False):
        place, found = place_of(one["loc"], given, one["type"] == "missing")
        if one["type"] == "missing":
            missing.append(place)
        if one["type"] == "extra_forbidden":
            unknown.append(place)
        reason = one["msg"]
        if reason not in reasons.setdefault(place, []):
            reasons[place].append(reason)
        inputs[place] = found
    from difflib import get_close_matches

    fields = [*cls.model_fields, *(json_name(name, field) for name, field in cls.model_fields.items())]
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
    number, integer = "Input should be a valid number", "Input should be a valid integer"
    lines: list[InitErrorDetails] = []
    for place, texts in reasons.items():
        if number in texts and integer in texts:
            texts.remove(integer)
        text = "; or: ".join(texts)
        lines.append(
            {"type": PydanticCustomError("json", "{text}", {"text": text}), "loc": place, "input": inputs[place]}
        )
    return ValidationError.from_exception_data(cls.__name__, lines)


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


# --- From Python to JSON.


def to_json(value: Any, keep_models: bool = False) -> Any:
    """The value of JSON that a value of Python stands for. Raises TypeError where there is none."""
    if value is None or isinstance(value, bool) or type(value) in (str, int):
        return value
    if isinstance(value, Model):
        return value if keep_models else value.to_arguments()
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, dict):
        for name in value:
            if not isinstance(name, str):
                raise TypeError(f"the names in an object are strings, not {name!r}")
        return {str(name): to_json(item, keep_models) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json(item, keep_models) for item in value]
    if isinstance(value, (str, int)):
        return str(value) if isinstance(value, str) else int(value)
    if isinstance(value, (float, Decimal)):
        return int(value) if isinstance(value, Decimal) and value.is_finite() and value == int(value) else float(value)
    if isinstance(value, (date, time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, (UUID, PurePath)):
        return str(value)
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        return to_json(value.tolist())
    raise TypeError(f"a value of type {type(value).__name__} cannot be sent as JSON")


def refuse_non_numbers(value: Any) -> None:
    """Raises where there is NaN or an infinity in a value: to JSON these are no numbers."""
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            refuse_non_numbers(item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise PydanticCustomError("json_number", "{value} is no number of JSON", {"value": str(value)})


def with_integers(validate: Callable[[Any], _R], value: Any) -> _R:
    """What `validate` makes of a value, with 1 for 1.0 where it wants an integer, and nowhere else.

    To JSON these are the same number, but not to every program that reads it.
    """
    given = value
    while True:
        try:
            return validate(given)
        except ValidationError as error:
            wanted = [
                place
                for one in error.errors(include_url=False, include_context=False)
                if one["type"] in ("int_type", "literal_error")
                for place, found in [place_of(one["loc"], given, False)]
                if isinstance(found, float) and found.is_integer()
            ]
            if not wanted:
                raise
        given = _with_integers_at(given, wanted)


def _with_integers_at(value: Any, places: list[tuple[int | str, ...]]) -> Any:
    """A copy of the value with the numbers at these places as integers."""
    if () in places:
        return int(value)
    within: dict[int | str, list[tuple[int | str, ...]]] = {}
    for first, *rest in places:
        within.setdefault(first, []).append(tuple(rest))
    copy = value.copy()
    for step, rests in within.items():
        copy[step] = _with_integers_at(value[step], rests)
    return copy


def _differs(plain: Any, given: Any) -> bool:
    """Whether there were models in `given`, which `plain` has as objects."""
    if isinstance(given, Model):
        return True
    if isinstance(given, dict):
        return any(_differs(plain[name], item) for name, item in given.items())
    return isinstance(given, list) and any(map(_differs, plain, given))


# --- Names and nulls.


def json_name(name: str, field: Any) -> str:
    return name if field.alias is None else str(field.alias)


def _by_json_name(cls: type[Model], values: dict[str, Any]) -> dict[str, Any]:
    """The constructor's arguments without those that say "leave it out"."""
    fields = cls.model_fields
    names = {json_name(name, field): name for name, field in fields.items()}
    given: dict[str, Any] = {}
    for word, value in values.items():
        key = word if word in names or word not in fields else json_name(word, fields[word])
        if key in given:
            raise TypeError(f"{cls.__name__}: {names[key]} and {key} are the same field")
        name = names.get(key)
        if name is not None and value is None and not fields[name].is_required() and not _takes_none(cls, name):
            continue
        given[key] = value
    return given


def _warn_of_misspelt(made: Model) -> None:
    cls = type(made)
    for word in made.__pydantic_extra__ or ():
        from difflib import get_close_matches

        for name in get_close_matches(word, cls.model_fields, n=1, cutoff=0.75):
            warnings.warn(
                f"{cls.__name__} has no field {word!r} and sends it as it is: did you mean {name!r}?", stacklevel=3
            )


@cache
def _takes_none(cls: type[Model], name: str) -> bool:
    field = cls.model_fields[name]
    annotation: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    try:
        TypeAdapter(annotation).validate_python(None)
    except ValidationError:
        return False
    return True
