"""Calls of tools, and their results. Written by ipybox together with them."""

from __future__ import annotations

import inspect
import json
import keyword
import re
import sys
import warnings
from collections.abc import Callable
from enum import Enum
from functools import cache, wraps
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, get_args, get_origin, overload

from ._errors import ArgumentsError, json_name, place_of
from ._model import UNSET, Model, needs, refuse_non_numbers, with_integers
from ._ready import Record, Text, let_run_take_results, ready

from pydantic import ConfigDict, TypeAdapter, ValidationError  # isort: skip  # _model says how to install it

__all__ = ["UNSET", "ArgumentsError", "Model", "to_result", "to_text", "tool", "unwrapped"]

let_run_take_results()

_P = TypeVar("_P", bound=Model, contravariant=True)
_R = TypeVar("_R", covariant=True)

if TYPE_CHECKING:

    class _Run(Protocol[_P, _R]):
        """The function of a tool, to those who check types."""

        @overload
        def __call__(self, params: _P, /) -> _R: ...
        @overload
        def __call__(self, params: dict[str, Any], /) -> _R: ...
        @overload
        def __call__(self, **fields: Any) -> _R: ...


def tool(run: Callable[[_P], _R]) -> _Run[_P, _R]:
    """Makes a function of Params one that also takes what stands for them: run({...}), run(owner=...), run()."""
    space = run.__globals__
    module = sys.modules.get(run.__module__)
    if type(module) is ModuleType and getattr(module, "__dict__", None) is space:
        module.__class__ = _ToolModule

    if inspect.iscoroutinefunction(run):

        @wraps(run)
        async def call(*args: Any, **fields: Any) -> Any:
            __tracebackhide__ = True
            return await run(_params(run, space["Params"], args, fields))  # type: ignore[arg-type, misc]
    else:

        @wraps(run)
        def call(*args: Any, **fields: Any) -> Any:
            __tracebackhide__ = True
            return run(_params(run, space["Params"], args, fields))  # type: ignore[arg-type]

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
        if type(given) is dict and all(isinstance(word, str) for word in given):
            return params(**given)
    name = f"{run.__module__.rpartition('.')[2]}.{run.__name__}"
    if len(args) == 1 and not fields and isinstance(given, dict):
        raise TypeError(f"{name}() takes fields by names that are strings: {name}({needs(params)})")
    if len(args) == 1 and not fields and isinstance(given, Model):
        raise TypeError(f"{name}() takes {needs(params)}, not {type(given).__module__}.{type(given).__qualname__}")
    raise TypeError(
        f"{name}() cannot tell which field an argument without a name is; give names: {name}({needs(params)})"
    )


class _ToolModule(ModuleType):
    """The module of a tool. It says how it is called, and has the enumerations of its parameters as classes, too."""

    def __call__(self, *args: Any, **fields: Any) -> Any:
        name = self.__name__.rpartition(".")[2]
        raise TypeError(f"{name} is the module of a tool: call {name}.run({needs(vars(self)['Params'])})")

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
                word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", json_name(field_name, field))
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


# --- What a tool answers.


def to_text(answer: Any) -> str:
    """The answer of a tool that does not say what its result is made of."""
    if hasattr(answer, "parts"):
        text: str = answer if isinstance(answer, str) else answer.carried_by(_text_of(answer.value))
        return text
    return Text(_text_of(answer))


def _text_of(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def unwrapped(answer: Any) -> Any:
    """The value that a server has put into an object, because structured content had to be one."""
    value = answer.value if hasattr(answer, "parts") else answer
    if not isinstance(value, dict) or list(value) != ["result"]:
        return answer
    return answer.carried_by(value["result"]) if hasattr(answer, "parts") else value["result"]


def to_result(result: Any, answer: Any) -> Any:
    """The answer as the tool's result; with a warning as it came where it is not what the schema promises.

    Images and the like that came with it are its ``parts``, and displayed with it.
    """
    if not hasattr(answer, "parts"):
        return ready(_checked(result, answer))
    value = _checked(result, answer.value)
    if isinstance(value, (Model, Record)):
        object.__setattr__(value, "_answer", answer)
        return value
    return answer.carried_by(value)


def _checked(result: Any, answer: Any) -> Any:
    """The tool has done its work by now. An exception would only have it called again."""
    try:
        value, problem = _judged(_validate_of(result), answer)
    except RecursionError:
        value, problem = answer, "nested too deeply to be checked, and returned as it came"
    if problem:
        warnings.warn(f"the result is {problem}", stacklevel=5)
    return value


def _judged(validate: Callable[[Any], Any], answer: Any) -> tuple[Any, str]:
    """The result, and what is wrong with it if there is anything."""
    try:
        return validate(answer), ""
    except ValidationError as error:
        refused = error
    parsed = _parsed(answer)
    if parsed is not answer:
        try:
            return validate(parsed), ""
        except ValidationError as error:
            refused = error
    first = refused.errors(include_url=False)[0]
    place, _ = place_of(first["loc"], parsed, first["type"] == "missing")
    where = "".join(f"[{step!r}]" for step in place)
    promise = f"not what the tool's schema promises and returned as it came: result{where}: {first['msg']}"
    return _records(parsed), promise


@cache
def _validate_of(result: Any) -> Any:
    if isinstance(result, type) and issubclass(result, Model):
        return result.model_validate
    config = ConfigDict(strict=True, allow_inf_nan=False)
    validate = TypeAdapter(result, config=config).validate_python

    def checked(value: Any) -> Any:
        refuse_non_numbers(value)
        return with_integers(validate, value)

    return checked


def _parsed(answer: Any) -> Any:
    try:
        return json.loads(answer) if isinstance(answer, str) else answer
    except ValueError:
        return answer


def _records(value: Any) -> Any:
    if isinstance(value, dict):
        return Record({name: _records(item) for name, item in value.items()})
    return [_records(item) for item in value] if isinstance(value, list) else value
