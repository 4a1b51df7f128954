"""What the modules of this package are made of. Written by ipybox together with them."""

from __future__ import annotations

import inspect
import json
import keyword
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import date, time
from decimal import Decimal
from enum import Enum
from functools import cache, wraps
from pathlib import PurePath
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, ParamSpec, TypeVar, get_args, get_origin
from uuid import UUID

try:
    from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError, model_validator
    from pydantic_core import InitErrorDetails, PydanticCustomError
except ImportError as error:
    raise ImportError(
        f"tool calls need pydantic 2 ({error}); install it on the host, then start a new kernel: "
        f"{sys.executable} -m pip install 'pydantic>=2,<3'"
    ) from None

_P = ParamSpec("_P")
_R = TypeVar("_R")

UNSET: Any = None
"""The default of what is not sent unless it is given."""


class Model(BaseModel):
    """An object of JSON, with the fields that the tool's schema names. What is not set is not sent.

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
            raise TypeError(f"{type(self).__name__} takes its fields by name: {_usage(type(self))}")
        try:
            given = {
                name: to_json(value, keep_models=True) for name, value in _by_json_name(type(self), values).items()
            }
        except RecursionError:
            raise ValueError(f"the arguments of {type(self).__name__} are nested too deeply to be sent") from None
        try:
            self.__pydantic_validator__.validate_python(given, self_instance=self)
            return
        except ValidationError as error:
            refused = error
        # a model also stands for an object where the schema names no class
        plain = to_json(given)
        try:
            if not _differs(plain, given):
                raise refused
            self.__pydantic_validator__.validate_python(plain, self_instance=self)
        except ValidationError as error:
            raise _readable(error, type(self), plain) from None

    # With this Pydantic does not validate by calling the constructor: model_validate() takes JSON and nothing else.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @model_validator(mode="wrap")
    @classmethod
    def _take_object(cls, value: Any, validate: Any) -> Any:
        if not isinstance(value, dict):
            return validate(value)
        value = with_integers(value)
        for check in cls._rules:
            check.validate(value)
        made = validate(value)
        # a further member may be called as the field of another one is in Python: that does not set the field
        for name in made.__pydantic_extra__ or ():
            if name in cls.model_fields and _json_name(name, cls.model_fields[name]) not in value:
                made.__pydantic_fields_set__.discard(name)
        return made

    def to_arguments(self) -> dict[str, Any]:
        """What is sent: all that was set, by the names and with the values of JSON."""
        cls = type(self)
        arguments: dict[str, Any] = {}
        for name, field in cls.model_fields.items():
            value = self.__dict__.get(name)
            if name in self.model_fields_set:
                if value is None and not field.is_required() and not _takes_none(cls, name):
                    continue
            elif value is None or value == field.get_default(call_default_factory=True):
                continue
            arguments[_json_name(name, field)] = to_json(value)
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


# --- Calls.


def tool(run: Callable[_P, _R]) -> Callable[_P, _R]:
    """Makes a function of Params one that also takes what stands for them: run({...}), run(owner=...), run()."""
    space = run.__globals__
    module = sys.modules.get(run.__module__)
    if type(module) is ModuleType and getattr(module, "__dict__", None) is space:
        module.__class__ = _ToolModule

    if inspect.iscoroutinefunction(run):

        @wraps(run)
        async def call(*args: Any, **fields: Any) -> Any:
            __tracebackhide__ = True
            return await run(_params(run, space["Params"], args, fields))  # type: ignore[call-arg, arg-type]
    else:

        @wraps(run)
        def call(*args: Any, **fields: Any) -> Any:
            __tracebackhide__ = True
            return run(_params(run, space["Params"], args, fields))  # type: ignore[call-arg, arg-type]

    return call  # type: ignore[return-value]


def _params(run: Any, params: type[Model], args: tuple[Any, ...], fields: dict[str, Any]) -> Model:
    __tracebackhide__ = True
    if not args:
        given = fields.get("params")
        if len(fields) != 1 or not isinstance(given, (Model, dict)) or "params" in params.model_fields:
            return params(**fields)
        args, fields = (given,), {}
    given = args[0]
    if len(args) == 1 and not fields:
        if isinstance(given, params):
            return given
        if type(given) is dict:
            return params(**given)
    got = type(given).__module__ + "." + type(given).__qualname__ if isinstance(given, Model) else type(given).__name__
    got = got if len(args) == 1 and not fields else f"{len(args)} arguments without and {len(fields)} with names"
    name = run.__module__.rpartition(".")[2]
    raise TypeError(f"{name}.{run.__name__}() takes {_usage(params)}, not {got}")


def _usage(cls: type[Model]) -> str:
    names = [name for name, field in cls.model_fields.items() if field.is_required()]
    more = ["..."] if len(cls.model_fields) > len(names) else []
    return f"{cls.__name__}({', '.join([f'{name}=...' for name in names] + more)})"


class _ToolModule(ModuleType):
    """The module of a tool. It says how it is called, and has the enumerations of its parameters as classes, too."""

    def __call__(self, *args: Any, **fields: Any) -> Any:
        name = self.__name__.rpartition(".")[2]
        raise TypeError(f"{name} is the module of a tool: call {name}.run({name}.{_usage(vars(self)['Params'])})")

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            found = _enumerations(vars(self)).get(name)
            if found is not None:
                setattr(self, name, found)
                return found
        from difflib import get_close_matches

        close = get_close_matches(name, vars(self), n=1)
        hint = f": did you mean {close[0]!r}?" if close else ""
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}{hint}")


def _enumerations(space: dict[str, Any]) -> dict[str, type[Enum]]:
    """Classes for the Literals of all fields, by the names of the fields: Sort for sort, and Sort1 for another one."""
    made: dict[str, type[Enum]] = {}
    for cls in [value for value in space.values() if isinstance(value, type) and issubclass(value, Model)]:
        if cls is Model or cls.__module__ != space["__name__"]:
            continue
        for field_name, field in cls.model_fields.items():
            values = [value for value in _literals(field.annotation) if isinstance(value, str)]
            base = "".join(
                word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", _json_name(field_name, field))
            )
            if not values or not base.isidentifier() or base in space:
                continue
            name, number = base, 0
            while name in made and [member.value for member in made[name]] != values:
                number += 1
                name = f"{base}{number}"
            if name not in made:
                members: dict[str, str] = {}
                for value in values:
                    word = re.sub(r"\W", "_", value)
                    if not word or word[0].isdigit() or word.startswith("_"):
                        word = f"field_{word}"
                    while word in members or keyword.iskeyword(word) or word == "mro":
                        word += "_"
                    members[word] = value
                made[name] = Enum(name, members, type=str, module=space["__name__"])  # type: ignore[assignment]
    return made


def _literals(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [value for part in get_args(annotation) for value in _literals(part)]


# --- Errors.


def _readable(error: ValidationError, cls: type[Model], given: Any) -> ValidationError:
    """The same with one line a field, without links, and with what a misspelt field may have meant."""
    reasons: dict[tuple[Any, ...], list[str]] = {}
    inputs: dict[tuple[Any, ...], Any] = {}
    missing, unknown = [], []
    for one in error.errors(include_url=False, include_context=False):
        place, found = _place(one["loc"], given, one["type"] == "missing")
        if one["type"] == "missing":
            missing.append(place)
        if one["type"] == "extra_forbidden":
            unknown.append(place)
        reason = one["msg"]
        if reason not in reasons.setdefault(place, []):
            reasons[place].append(reason)
        inputs[place] = found
    for place in unknown:
        from difflib import get_close_matches

        fields = [*cls.model_fields, *(_json_name(name, field) for name, field in cls.model_fields.items())]
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


def _place(where: tuple[int | str, ...], given: Any, is_missing: bool) -> tuple[tuple[int | str, ...], Any]:
    """Where in what was given an error is. Pydantic also names the alternatives of unions on the way."""
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
        return int(value) if math.isfinite(value) and value == int(value) else float(value)
    if isinstance(value, (date, time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, (UUID, PurePath)):
        return str(value)
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        return to_json(value.tolist())
    raise TypeError(f"a value of type {type(value).__name__} cannot be sent as JSON")


def with_integers(value: Any) -> Any:
    """The value with 1 for 1.0: to JSON these are the same number. NaN and the infinities are none."""
    if isinstance(value, dict):
        return {name: with_integers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [with_integers(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise PydanticCustomError("json_number", "{value} is no number of JSON", {"value": str(value)})
        return int(value) if value.is_integer() else value
    return value


def _differs(plain: Any, given: Any) -> bool:
    """Whether there were models in `given`, which `plain` has as objects."""
    if isinstance(given, Model):
        return True
    if isinstance(given, dict):
        return any(_differs(plain[name], item) for name, item in given.items())
    return isinstance(given, list) and any(map(_differs, plain, given))


# --- Names and nulls.


def _json_name(name: str, field: Any) -> str:
    return name if field.alias is None else str(field.alias)


def _by_json_name(cls: type[Model], values: dict[str, Any]) -> dict[str, Any]:
    """The constructor's arguments without those that say "leave it out"."""
    fields = cls.model_fields
    names = {_json_name(name, field): name for name, field in fields.items()}
    given: dict[str, Any] = {}
    for word, value in values.items():
        json_name = word if word in names or word not in fields else _json_name(word, fields[word])
        if json_name in given:
            raise TypeError(f"{cls.__name__}: {names[json_name]} and {json_name} are the same field")
        name = names.get(json_name)
        if name is None:
            _warn_if_misspelt(cls, word)
        elif value is None and not fields[name].is_required() and not _takes_none(cls, name):
            continue
        given[json_name] = value
    return given


def _warn_if_misspelt(cls: type[Model], word: str) -> None:
    if cls.model_config.get("extra") != "allow":
        return
    from difflib import get_close_matches

    for name in get_close_matches(word, cls.model_fields, n=1, cutoff=0.75):
        warnings.warn(
            f"{cls.__name__} has no field {word!r} and sends it as it is: did you mean {name!r}?", stacklevel=4
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


# --- What a tool answers.


class Record(dict[str, Any]):
    """An object that is not what its schema promises: a dict whose members are also attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            if name == "parts" and "_answer" in vars(self):
                return self._answer.parts
            raise AttributeError(f"no member {name!r}, only {', '.join(self) or 'nothing'}") from None

    def _ipython_display_(self) -> None:
        if "_answer" not in vars(self):
            raise NotImplementedError
        self._answer.show(self)


def to_text(answer: Any) -> str:
    """The answer of a tool that does not say what its result is made of."""
    if answer is None:
        return ""
    if isinstance(answer, str):
        return answer
    text = json.dumps(getattr(answer, "value", answer), ensure_ascii=False)
    return answer.carried_by(text) if hasattr(answer, "parts") else text


def to_result(result: Any, answer: Any) -> Any:
    """The answer as the tool's result; with a warning as it came where it is not what the schema promises.

    Images and the like that came with it are its ``parts``, and displayed with it.
    """
    if not hasattr(answer, "parts"):
        return _checked(result, answer)
    value = _checked(result, answer.value)
    if isinstance(value, (Model, Record)):
        object.__setattr__(value, "_answer", answer)
        return value
    return answer.carried_by(value)


def _checked(result: Any, answer: Any) -> Any:
    """The tool has done its work by now. An exception would only make somebody call it again."""
    validate = _validate_of(result)
    try:
        return validate(answer)
    except ValidationError as error:
        refused = error
    except RecursionError:
        warnings.warn("the result is nested too deeply to be checked, and returned as it came", stacklevel=5)
        return answer
    parsed = _parsed(answer)
    if parsed is not answer:
        try:
            return validate(parsed)
        except ValidationError as error:
            refused = error
    first = refused.errors(include_url=False)[0]
    where = "".join(f"[{step!r}]" for step in first["loc"])
    warnings.warn(
        f"the result is not what the tool's schema promises and returned as it came: result{where}: {first['msg']}",
        stacklevel=5,
    )
    return _records(parsed)


@cache
def _validate_of(result: Any) -> Any:
    if isinstance(result, type) and issubclass(result, Model):
        return result.model_validate
    config = ConfigDict(strict=True, allow_inf_nan=False)
    return TypeAdapter(Annotated[result, BeforeValidator(with_integers)], config=config).validate_python


def _parsed(answer: Any) -> Any:
    try:
        return json.loads(answer) if isinstance(answer, str) else answer
    except ValueError:
        return answer


def _records(value: Any) -> Any:
    if isinstance(value, dict):
        return Record({name: _records(item) for name, item in value.items()})
    return [_records(item) for item in value] if isinstance(value, list) else value
