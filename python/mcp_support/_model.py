"""Objects of JSON as classes, and values of Python as JSON. Written by ipybox together with its package."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Generator, Iterator
from datetime import date, time
from decimal import Decimal
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar
from uuid import UUID

try:
    from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator
    from pydantic_core import PydanticCustomError
except ImportError as error:
    raise ImportError(
        f"tool calls need pydantic 2 ({error}); install it on the host, then start a new kernel: "
        f"{sys.executable} -m pip install 'pydantic>=2,<3'"
    ) from None

from ._errors import fields_of, json_name, place_of, readable, warn_of_undeclared

_R = TypeVar("_R")

UNSET: Any = None
"""The default of what is not sent unless it is given."""


class Model(BaseModel):
    """An object of JSON, with the fields that the tool's schema names. Fields that are not set are not sent.

    A result can be used like a dict, too: `result["rows"]`, `result.get("rows")`, `"rows" in result`.

    The constructor also takes what has no meaning of its own in JSON: tuples and sets for arrays; dates, paths, UUIDs
    and enumerations for strings; decimals for numbers. None leaves out what may be left out but must not be null.
    """

    model_config = ConfigDict(strict=True, extra="allow", protected_namespaces=(), allow_inf_nan=False)

    #: What a tool answered, where images and the like came with it. A slot: it is no part of the object.
    __slots__ = ("_answer",)

    #: Checks of the whole object, see `rule`.
    _rules: ClassVar[tuple[Any, ...]] = ()

    #: Whether the schema says that there are further members, which are no mistakes then.
    _more: ClassVar[bool] = False

    #: Where it is the result of a tool, it may be awaited: see `_ready`.
    _is_result: ClassVar[bool] = True

    def __init_subclass__(cls, more: bool = False, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls._more = more

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
            warn_of_undeclared(self, set(_models_in(given)))
            return
        # a model also stands for an object where the schema names no class
        plain = to_json(given)
        try:
            if not _differs(plain, given):
                raise refused
            self.__pydantic_validator__.validate_python(plain, self_instance=self)
        except ValidationError as error:
            problems: Any = error.errors(include_url=False, include_context=False)
            raise readable(type(self), problems, plain, needs(type(self))) from None
        warn_of_undeclared(self, set())

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
            if name.startswith("_") or name in (self.__pydantic_extra__ or {}):
                return super().__getattr__(name)
            if name == "parts" and hasattr(self, "_answer"):
                return self._answer.parts
            if name in _LIKE_OTHERS:
                return _LIKE_OTHERS[name].__get__(self)
            raise AttributeError(f"{type(self).__name__} has no field {name!r}, only {fields_of(self.__members())}")

    def __members(self) -> dict[str, Any]:
        """The members that there are, by the names of JSON."""
        fields = type(self).model_fields
        members = {json_name(name, field): self.__dict__.get(name) for name, field in fields.items()}
        return members | (self.__pydantic_extra__ or {})

    def __getitem__(self, name: str) -> Any:
        members = self.__members()
        if name not in members and name in type(self).model_fields:
            return getattr(self, name)
        if name not in members:
            raise KeyError(f"{type(self).__name__} has no field {name!r}, only {fields_of(members)}")
        return members[name]

    def __contains__(self, name: object) -> bool:
        return name in self.__members()

    # what makes it awaitable; equal ones need not be the same to who waits for them

    __hash__ = object.__hash__

    def __await__(self) -> Generator[Any, None, Any]:
        return self
        yield

    def _ipython_display_(self) -> None:
        if not hasattr(self, "_answer"):
            raise NotImplementedError  # displayed as everything is
        self._answer.show(self)

    # Found where there is no field of the name, see __getattr__.

    def _like_get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401  # this is get

    def _like_keys(self) -> Any:
        return self.__members().keys()

    def _like_values(self) -> Any:
        return self.__members().values()

    def _like_items(self) -> Any:
        return self.__members().items()

    def _like_send(self, value: object) -> Any:
        raise StopIteration(self)

    def _like_throw(self, error: Any, *more: Any) -> Any:
        raise error


#: Methods of a dict and of a coroutine, by their names.
_LIKE_OTHERS = {
    name.removeprefix("_like_"): method for name, method in vars(Model).items() if name.startswith("_like_")
}


def needs(cls: type[Model]) -> str:
    """The fields that must be given, as in a call; `...` stands for further ones."""
    names = [name for name, field in cls.model_fields.items() if field.is_required()]
    more = ["..."] if len(cls.model_fields) > len(names) else []
    return ", ".join([f"{name}=..." for name in names] + more)


def usage(cls: type[Model]) -> str:
    return f"{cls.__name__}({needs(cls)})"


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
    """The result of `validate` for a value, with 1 for 1.0 where it wants an integer, and nowhere else.

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


def _models_in(value: Any) -> Iterator[int]:
    """The identities of the models in a value: they have been looked at."""
    if isinstance(value, Model):
        yield id(value)
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _models_in(item)


@cache
def _takes_none(cls: type[Model], name: str) -> bool:
    field = cls.model_fields[name]
    annotation: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    try:
        TypeAdapter(annotation).validate_python(None)
    except ValidationError:
        return False
    return True
