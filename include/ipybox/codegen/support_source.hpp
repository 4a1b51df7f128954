// Written by cmake/EmbedPython.cmake from python/mcp_support: change it there, then build the target runtime_source.
// clang-format off
#pragma once

#include <string_view>

namespace ipybox::codegen::detail {

/// A file that every generated package has.
struct support_file {
    std::string_view name;
    std::string_view text;
};

inline constexpr support_file package_support[] = {
{"_client.py", {R"py("""The package's way to its server, and its tools by name. Written by ipybox together with its package."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any


class NoKernel:
    """Stands for the client where there is no kernel: modules import, and calls say what they need."""

    def __init__(self, server_name: str) -> None:
        self.server_name = server_name

    def run_sync(self, tool_name: str, tool_args: dict[str, Any]) -> Any:
        raise RuntimeError(
            f"{self.server_name}.{tool_name} can be called in a kernel of ipybox only, which asks its host: "
            "`ipybox run FILE --mcp-config mcp.json`"
        )

    async def run(self, tool_name: str, tool_args: dict[str, Any]) -> Any:
        self.run_sync(tool_name, tool_args)


def package(name: str, server: str) -> tuple[Any, Callable[[str], Any], Callable[[], list[str]]]:
    """CLIENT, __getattr__ and __dir__ of a package: its tools are there without being imported."""
    own = sys.modules[name]
    if own.__doc__:  # which cannot know where the package stands
        own.__doc__ = own.__doc__.replace(f"from mcptools.{server} import", f"from {name} import", 1)
    vars(own).pop("package", None)  # a tool may have the name that this function has there
    parent, _, last = name.rpartition(".")
    function = vars(sys.modules[parent]).get(last) if parent in sys.modules else None
    if inspect.isfunction(function):  # mcptools.search, whose name a server has
        own.__class__ = type("Package", (ModuleType,), {"__call__": staticmethod(function)})

    def get(attribute: str) -> Any:
        if attribute in modules() or (not attribute.startswith("_") and _is_listed_anew(server, attribute, modules)):
            return import_module(f"{name}.{attribute}")
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        close = get_close_matches(attribute, modules(), n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(close)}?" if close else f"help({name}) lists its tools"
        raise AttributeError(f"{name} has no tool {attribute!r}: {hint}")

    known: tuple[object, list[str]] = (None, [])

    def modules() -> list[str]:
        """The tools that are listed now: those of an application come and go while code runs."""
        nonlocal known
        listed = Path(__file__).with_name("_schemas.json")
        try:
            state = listed.stat()
            version = (state.st_ino, state.st_mtime_ns)
            if version != known[0]:
                known = (version, list(json.loads(listed.read_bytes())["modules"]))
                invalidate_caches()
        except (OSError, ValueError, KeyError):
            return []
        return known[1]

    return _client(server), get, lambda: sorted({*vars(own), *modules()})


def _is_listed_anew(server: str, tool: str, modules: Callable[[], list[str]]) -> bool:
    """Whether the server has a tool since its list has changed: the host then generates the package anew."""
    try:
        from ipybox_kernel.tools import packages  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return False
    packages(server)
    return tool in modules()


def _client(server: str) -> Any:
    try:
        from ipybox_kernel.tools import ToolRunner  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return NoKernel(server)
    return ToolRunner(server_name=server)
)py", 3701}},
{"_errors.py", {R"py("""Arguments that do not fit, in one sentence. Written by ipybox together with its package."""

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
)py", 6794}},
{"_mcp.py", {R"py("""Calls of tools, and their results. Written by ipybox together with them."""

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
)py", 9378}},
{"_model.py", {R"py("""Objects of JSON as classes, and values of Python as JSON. Written by ipybox together with its package."""

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
)py", 13466}},
{"_pattern.py", {R"py("""Regular expressions of JSON Schema (ECMA-262) in Python's. Written by ipybox together with its package."""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Any

from pydantic_core import SchemaValidator

if sys.version_info >= (3, 11):
    from re import _parser  # type: ignore[attr-defined]
else:
    import sre_parse as _parser

_SPACES = "\\t\\n\\x0b\\x0c\\r \\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
_NO_SPACES = (
    "\\x00-\\x08\\x0e-\\x1f!-\\x9f\\xa1-\\u167f\\u1681-\\u1fff\\u200b-\\u2027\\u202a-\\u202e"
    "\\u2030-\\u205e\\u2060-\\u2fff\\u3001-\\ufefe\\uff00-\\U0010ffff"
)
#: Classes as the inside of a class. Rust's own have all of Unicode.
_WORDS = {
    "d": "0-9", "D": "\\x00-/:-\\U0010ffff",
    "w": "0-9A-Za-z_", "W": "\\x00-/:-@\\x5b-\\x5e\\x60\\x7b-\\U0010ffff",
}  # fmt: skip
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
_CATEGORIES = {
    "Letter": "L", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt",
    "Cased_Letter": "LC", "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M", "Nonspacing_Mark": "Mn",
    "Spacing_Mark": "Mc", "Enclosing_Mark": "Me", "Number": "N", "Decimal_Number": "Nd", "digit": "Nd",
    "Letter_Number": "Nl", "Other_Number": "No", "Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc",
    "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps", "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi",
    "Final_Punctuation": "Pf", "Other_Punctuation": "Po", "Symbol": "S", "Math_Symbol": "Sm",
    "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Other_Symbol": "So", "Separator": "Z",
    "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp", "Other": "C", "Control": "Cc",
    "Format": "Cf", "Surrogate": "Cs", "Private_Use": "Co", "Unassigned": "Cn",
}  # fmt: skip


_MOST_WAYS = 10_000_000  # of matching a text: what may take more is not tried; about a second


class Pattern:
    """A pattern that no text makes slow.

    Rust's engine takes time in proportion to the text. It has neither references to groups nor looking around: patterns
    with these are left to Python's, for texts that it is done with in a bounded number of ways.
    """

    def __init__(self, pattern: str) -> None:
        text = _Translation(pattern).text()
        # ASCII: \b is so in ECMA-262
        self._python = re.compile(text, re.ASCII)
        self._parsed = _parser.parse(text, re.ASCII)
        self._linear = _linear(_Translation(pattern, end=r"\z", boundary=r"(?-u:\b)").text())

    def search(self, text: str) -> bool | None:
        """Whether it is found in the text; None where that would take too long."""
        if self._linear:
            found = bool(self._linear.isinstance_python(text))
            if found or not _has_surrogates(text):
                return found
        ways = _ways(self._parsed, len(text))
        if not self._python.pattern.startswith("^"):
            ways *= len(text) + 1
        return bool(self._python.search(text)) if ways <= _MOST_WAYS else None


@cache
def compiled(pattern: str) -> Pattern | None:
    """The pattern, or None where Python has nothing that means the same: what cannot be checked is not."""
    try:
        return Pattern(pattern)
    except (ValueError, OverflowError, RecursionError):  # re.error is a ValueError from 3.13 on
        return None
    except re.error:
        return None


def _linear(pattern: str) -> SchemaValidator | None:
    """Pydantic's own check of patterns, which is Rust's; None where that has no such pattern."""
    try:
        return SchemaValidator({"type": "str", "pattern": pattern})
    except Exception:  # pydantic_core.SchemaError, which it does not promise
        return None


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _ways(parsed: Any, length: int) -> float:
    """In how many ways, at most, an engine that goes back may try to fit a parsed pattern into so many characters."""
    ways, most = 1.0, 1.0
    for kind, argument in parsed:
        word = str(kind)
        if word in ("ASSERT", "ASSERT_NOT"):  # tried once at each place that is reached, and never again
            most = max(most, ways * _ways(argument[1], length))
        elif word == "BRANCH":
            ways *= sum(_ways(part, length) for part in argument[1])
        elif word == "SUBPATTERN":
            ways *= _ways(argument[-1], length)
        elif word in ("MAX_REPEAT", "MIN_REPEAT"):
            least, upper, body = argument
            times, once = min(upper, length), _ways(body, length)
            ways *= max(times - least, 0) + 1 if once <= 1 else once ** min(times, 1000)
        if ways > _MOST_WAYS:
            break
    return max(ways, most)


class _Translation:
    """Text that means the same to Python's engine, and to Rust's with its own words for an end and a boundary."""

    def __init__(self, pattern: str, end: str = r"\Z", boundary: str = r"\b") -> None:
        self.rest = pattern
        self.end = end
        self.boundary = boundary
        self.at = 0

    def text(self) -> str:
        out: list[str] = []
        while self.at < len(self.rest):
            out.append(self._atom())
        return "".join(out)

    def _take(self, expression: str) -> re.Match[str] | None:
        found = re.compile(expression, re.DOTALL).match(self.rest, self.at)
        if found:
            self.at = found.end()
        return found

    def _atom(self) -> str:
        if self._take(r"\\"):
            return self._escape()
        if self._take(r"\["):
            return self._class()
        if self._take(r"\."):
            return "[^\\n\\r\\u2028\\u2029]"
        if self._take(r"\$"):
            return self.end
        if found := self._take(r"\(\?(<[A-Za-z_][A-Za-z0-9_]*>|<=|<!|:|=|!)"):
            return found[0].replace("(?<", "(?P<") if found[0].endswith(">") else found[0]
        if self._take(r"\(\?"):
            raise ValueError("a group that ECMA-262 does not have, or Python")
        if found := self._take(r"([*+?]|\{\d+(,\d*)?\})\??"):
            if self._take(r"[*+?]"):
                raise ValueError("a quantifier of a quantifier")
            return found[0]
        found = self._take(r".")
        assert found
        return found[0] if found[0] in "()|^" else re.escape(found[0])

    # --- Escapes: within a class and outside of one.

    def _escape(self) -> str:
        if self._take("s"):
            return f"[{_SPACES}]"
        if self._take("S"):
            return f"[^{_SPACES}]"
        if found := self._take("k<([A-Za-z_][A-Za-z0-9_]*)>"):
            return f"(?P={found[1]})"
        if found := self._take("[dDwW]"):
            return f"[{_WORDS[found[0]]}]"
        if found := self._take("[bB]"):
            return self.boundary.replace("b", found[0])
        if found := self._take(r"[1-9]\d?"):
            return f"(?:\\{found[0]})"
        if found := self._take(r"([pP])\{([^}]*)\}"):
            return f"[{'^' if found[1] == 'P' else ''}{_category(found[2])}]"
        return re.escape(self._character())

    def _character(self) -> str:
        """One character that is written with a backslash, which has been taken."""
        if found := self._take(r"u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"):
            high, low = int(found[1], 16), int(found[2], 16)
            return chr(0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00)
        if found := self._take(r"u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,8})\}"):
            return chr(int(found[1] or found[2] or found[3], 16))
        if found := self._take(r"c([A-Za-z])"):
            return chr(ord(found[1]) % 32)
        if self._take(r"0(?!\d)"):
            return "\0"
        found = self._take(".")
        if not found or found[0] in "pPkuxc0123456789":
            raise ValueError("an escape that means nothing, or too much")
        return _CONTROLS.get(found[0], found[0])

    def _class(self) -> str:
        inverse = bool(self._take(r"\^"))
        parts: list[str] = []
        while not self._take(r"\]"):
            first, single = self._member()
            if single and self.rest.startswith("-", self.at) and not self.rest.startswith("-]", self.at):
                self._take("-")
                last, single = self._member()
                parts.append(f"{first}-{last}" if single else f"{first}\\-{last}")
            else:
                parts.append(first)
        if not parts:
            return "(?s:.)" if inverse else "(?!)"
        return f"[{'^' if inverse else ''}{''.join(parts)}]"

    def _member(self) -> tuple[str, bool]:
        """A part of a class, and whether it is a single character."""
        if not self._take(r"\\"):
            found = self._take(".")
            if not found:
                raise ValueError("a class without an end")
            return _in_class(found[0]), True
        if self._take("s"):
            return _SPACES, False
        if self._take("S"):
            return _NO_SPACES, False
        if found := self._take("[dDwW]"):
            return _WORDS[found[0]], False
        if found := self._take(r"([pP])\{([^}]*)\}"):
            return _category(found[2], found[1] == "P"), False
        if self._take("b"):
            return "\\x08", True
        return _in_class(self._character()), True


def _in_class(character: str) -> str:
    return re.escape(character) if ord(character) > 127 or character.isalnum() else f"\\x{ord(character):02x}"


@cache
def _category(name: str, inverse: bool = False) -> str:
    """The characters of a general category, as the inside of a class."""
    import unicodedata

    name = name.removeprefix("General_Category=").removeprefix("gc=")
    wanted = _CATEGORIES.get(name, name)
    if wanted not in _CATEGORIES.values():
        raise ValueError(f"the property {name} is not known")
    members = ("Lu", "Ll", "Lt") if wanted == "LC" else (wanted,)
    ranges: list[list[int]] = []
    for code in range(0x110000):
        if unicodedata.category(chr(code)).startswith(members) != inverse:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
)py", 10462}},
{"_ready.py", {R"py("""Results that are there, and may be awaited all the same. Written by ipybox together with its package."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from typing import Any, ClassVar

from ._errors import fields_of
from ._model import Model


class Ready:
    """A result that is there: awaited, it is itself, also by asyncio.gather, wait_for, create_task and run.

    Elsewhere tools are async functions. The tool has run when a result cannot be awaited, and would be run again.
    """

    __slots__ = ()
    _is_result: ClassVar[bool] = True

    def __await__(self) -> Generator[Any, None, Any]:
        return self
        yield

    def send(self, value: object) -> Any:
        raise StopIteration(self)

    def throw(self, error: Any, *more: Any) -> Any:
        raise error

    def close(self) -> None:
        pass


class Text(Ready, str):
    """A text."""

    def __reduce__(self) -> Any:
        return str, (str(self),)


class Integer(Ready, int):
    """A number."""

    def __reduce__(self) -> Any:
        return int, (int(self),)


class Number(Ready, float):
    """A number."""

    def __reduce__(self) -> Any:
        return float, (float(self),)


class List(Ready, list[Any]):
    """A list."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # asyncio.gather keeps what it waits for in a dict

    def __reduce__(self) -> Any:
        return list, (list(self),)


class Object(Ready, dict[str, Any]):
    """An object with members of any names."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class Record(dict[str, Any]):
    """An object that is not what its schema promises: a dict whose members are also attributes."""

    _is_result: ClassVar[bool] = True
    __hash__ = object.__hash__  # type: ignore[assignment]
    __await__ = Ready.__await__

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        if name == "parts" and "_answer" in vars(self):
            return self._answer.parts
        if name in ("send", "throw"):
            return getattr(Ready, name).__get__(self)
        raise AttributeError(f"no member {name!r}, only {fields_of(self)}")

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"no member {name!r}, only {fields_of(self)}")

    def _ipython_display_(self) -> None:
        if "_answer" not in vars(self):
            raise NotImplementedError
        self._answer.show(self)


for _made in (Ready, Record, Model):
    Coroutine.register(_made)

_CLASSES: dict[type, Callable[[Any], Any]] = {str: Text, int: Integer, float: Number, list: List, dict: Object}


def ready(value: Any) -> Any:
    """The value as one that can be awaited. True, False and None cannot: they are the only ones of their kind."""
    make = _CLASSES.get(type(value))
    return make(value) if make else value


def let_run_take_results() -> None:
    """Makes `asyncio.run(tool.run(...))` the result: in a kernel, whose loop runs, it would refuse after the call."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or "ipybox_kernel" not in sys.modules or hasattr(asyncio.run, "takes_results"):
        return
    run = asyncio.run

    @wraps(run)
    def run_or_return(main: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        return main if getattr(type(main), "_is_result", False) else run(main, **options)

    run_or_return.takes_results = True  # type: ignore[attr-defined]
    asyncio.run = run_or_return  # type: ignore[attr-defined]
)py", 3684}},
{"_schema.py", {R"py("""Checks by JSON Schema, for what types of Python do not say. Written by ipybox together with its package."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urldefrag, urljoin

from pydantic_core import PydanticCustomError, core_schema

from ._model import Model, to_json
from ._pattern import compiled
from ._values import Problem, as_dict, as_list, by_value, count, is_number, short, size_of

_ModelType = TypeVar("_ModelType", bound="type[Model]")


class _Active(set[tuple[int, int]]):
    """The judgements that are under way, and how many more there may be of a value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.left = _MOST_JUDGED + _JUDGED_FOR_EACH * size_of(value)


class Schema:
    """A check, for Annotated[...] and for `rule`: Schema(uniqueItems=True), Schema({"not": {...}}), Schema(False)."""

    def __init__(self, schema: Any = None, /, **keywords: Any) -> None:
        self._schema = keywords if schema is None else schema
        self._validator = Validator(self._schema)

    @classmethod
    def part_of(cls, validator: Validator, pointer: str) -> Schema:
        check = cls(validator.find(pointer, validator.base)[0])
        check._validator = validator
        return check

    def validate(self, value: Any) -> Any:
        try:
            found = self._validator.problem(self._schema, to_json(value))
        except TypeError as error:
            found = "", f"is no JSON: {error}"
        if found is not None:
            raise PydanticCustomError("json_schema", "{problem}", {"problem": f"value{found[0]} {found[1]}"})
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        return core_schema.no_info_before_validator_function(self.validate, handler(source))

    def __repr__(self) -> str:
        return f"Schema({self._schema!r})"


def rule(check: Schema) -> Callable[[_ModelType], _ModelType]:
    """Adds a check of the whole object to a class."""

    def add(cls: _ModelType) -> _ModelType:
        cls._rules = (*cls._rules, check)
        return cls

    return add


def schema_of(tool: str, kind: str) -> Callable[[str], Schema]:
    """Checks by parts of the schema that the server lists: schema_of("tool", "inputSchema")("#/properties/x")."""
    return lambda pointer: Schema.part_of(_listed(tool, kind), pointer)


@cache
def _listed(tool: str, kind: str) -> Validator:
    for entry in _tools():
        if entry["name"] == tool and kind in entry:
            schema = entry[kind]
            return Validator(schema, dialect_of(schema))
    raise LookupError(f"_schemas.json has no {kind} of the tool {tool!r}: generate the package again")


@cache
def _tools() -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = json.loads(Path(__file__).with_name("_schemas.json").read_bytes())["tools"]
    return tools


# --- JSON Schema, draft 7 and 2020-12. What is malformed or unknown constrains nothing.

_ONE = {
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
}  # fmt: skip
_MANY = {"allOf", "anyOf", "items", "oneOf", "prefixItems"}
_NAMED = {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}

#: Keywords that a dialect does not have.
_UNKNOWN = {
    "draft-07": {
        "$anchor", "$dynamicAnchor", "$dynamicRef", "dependentRequired", "dependentSchemas", "maxContains",
        "minContains", "prefixItems", "unevaluatedItems", "unevaluatedProperties",
    },
    "2020-12": {"dependencies"},
    "": set(),
}  # fmt: skip

_DEEPEST = 180  # levels of schemas; Python's own stack ends at 1000 frames
_MOST_JUDGED = 100_000  # parts of schemas for one value: alternatives of alternatives double with each level,
_JUDGED_FOR_EACH = 50  # and so many more for each value in it


def dialect_of(schema: Any) -> str:
    named = schema.get("$schema") if isinstance(schema, dict) else None
    return "draft-07" if isinstance(named, str) and re.search(r"draft-0[467]", named) else "2020-12"


class Validator:
    """Judges values by a schema, or by a part of it. References are looked for in the document alone."""

    def __init__(self, document: Any, dialect: str = "") -> None:
        self.document = document
        self.dialect = dialect
        self.unknown = _UNKNOWN[dialect]
        self.base = ""
        self._resources: dict[str, Any] = {}
        self._anchors: dict[tuple[str, str], Any] = {}
        self._dynamic: dict[tuple[str, str], Any] = {}
        self._bases: dict[int, str] = {}
        self._index(document)

    def problem(self, schema: Any, value: Any) -> Problem | None:
        """The problem of the value, or None. `schema` is the document or a part of it."""
        return self._problem(schema, value, set(), (self.base,), _Active(value))

    # --- References.

    def _index(self, document: Any) -> None:
        self._resources[""] = document
        stack = [(document, "")]
        while stack:
            schema, base = stack.pop()
            if not isinstance(schema, dict):
                continue
            name = schema.get("$id")
            if isinstance(name, str) and not (self.dialect == "draft-07" and "$ref" in schema):
                uri, fragment = urldefrag(urljoin(base, name))
                if fragment:
                    self._anchors[uri or base, fragment] = schema
                if not name.startswith("#"):
                    base = uri
                    self._resources[base] = schema
            if schema is document:
                self.base = base
            for keyword in ("$anchor", "$dynamicAnchor"):
                anchor = self._of(schema, keyword)
                if isinstance(anchor, str):
                    self._anchors[base, anchor] = schema
                    if keyword == "$dynamicAnchor":
                        self._dynamic[base, anchor] = schema
            self._bases[id(schema)] = base
            stack += [(part, base) for part in _parts(schema)]

    def find(self, reference: str, base: str) -> tuple[Any, str]:
        """The schema that a reference names (None: nothing), and the base of the references in it."""
        uri, fragment = (base, reference[1:]) if reference.startswith("#") else urldefrag(urljoin(base, reference))
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._anchors.get((uri, fragment)), uri
        found = self._resources.get(uri)
        for step in fragment.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict):
                found = found.get(step)
            elif isinstance(found, list) and re.fullmatch(r"0|[1-9][0-9]{0,9}", step) and int(step) < len(found):
                found = found[int(step)]
            else:
                return None, uri
        return found, self._bases.get(id(found), uri)

    def _find_dynamically(self, reference: str, scope: tuple[str, ...]) -> tuple[Any, str]:
        found, base = self.find(reference, scope[-1])
        name = reference.partition("#")[2]
        if self._dynamic.get((base, name)) is found is not None:
            for outer in scope:
                if (outer, name) in self._dynamic:
                    return self._dynamic[outer, name], outer
        return found, base

    def _of(self, schema: dict[str, Any], keyword: str) -> Any:
        return None if keyword in self.unknown else schema.get(keyword)

    # --- Judging. `seen` collects the names or indices that a subschema has evaluated, `scope` has the bases passed
    # through, `active` what is being judged right now.

    def _problem(
        self, schema: Any, value: Any, seen: set[Any], scope: tuple[str, ...], active: _Active
    ) -> Problem | None:
        if schema is False:
            return "", "must not be there"
        judged = id(schema), id(value)
        if not isinstance(schema, dict) or judged in active or len(active) > _DEEPEST or not active.left:
            return None  # a reference that leads to itself says nothing
        active.left -= 1
        active.add(judged)
        try:
            return self._judge(schema, value, seen, scope, active)
        finally:
            active.discard(judged)

    def _judge(
        self, schema: dict[str, Any], value: Any, seen: set[Any], scope: tuple[str, ...], active: _Active
    ) -> Problem | None:
        base = self._bases.get(id(schema), scope[-1])
        if base != scope[-1]:
            scope = (*scope, base)
        if self.dialect == "draft-07" and isinstance(schema.get("$ref"), str):
            schema = {"$ref": schema["$ref"]}
        found = by_value(schema, value) or self._in_place(schema, value, seen, scope, active)
        if found is None and isinstance(value, dict):
            found = self._of_object(schema, value, seen, scope, active)
        if found is None and isinstance(value, list):
            found = self._of_array(schema, value, seen, scope, active)
        return found

    def _in_place(
        self, schema: dict[str, Any], value: Any, seen: set[Any], scope: tuple[str, ...], active: _Active
    ) -> Problem | None:
        """Keywords whose subschemas judge the same value."""

        def judge(part: Any, scope: tuple[str, ...] = scope) -> Problem | None:
            inner: set[Any] = set()
            found = self._problem(part, value, inner, scope, active)
            if found is None:
                seen.update(inner)
            return found

        for keyword, find in (("$ref", self._find_here), ("$dynamicRef", self._find_dynamically)):
            reference = self._of(schema, keyword)
            if isinstance(reference, str):
                part, base = find(reference, scope)
                found = judge(part, (*scope, base) if base != scope[-1] else scope)
                if found:
                    return found
        for part in as_list(schema.get("allOf")):
            found = judge(part)
            if found:
                return found
        choices = as_list(schema.get("anyOf"))
        if choices:
            found_all = [judge(part) for part in choices]
            if all(found_all):
                return _nearest(found_all)
        choices = as_list(schema.get("oneOf"))
        if choices:
            inner_sets: list[set[Any]] = [set() for _ in choices]
            found_all = [self._problem(part, value, inner_sets[i], scope, active) for i, part in enumerate(choices)]
            if all(found_all):
                return _nearest(found_all)
            if found_all.count(None) > 1:
                return "", f"fits {found_all.count(None)} alternatives where it must fit one"
            seen.update(inner_sets[found_all.index(None)])
        if "not" in schema and self._problem(schema["not"], value, set(), scope, active) is None:
            return "", f"must not be {short(schema['not'])}"
        if "if" in schema:
            part = schema.get("else" if judge(schema["if"]) else "then", True)
            return judge(part)
        return None

    def _find_here(self, reference: str, scope: tuple[str, ...]) -> tuple[Any, str]:
        return self.find(reference, scope[-1])

    def _of_object(
        self, schema: dict[str, Any], value: dict[str, Any], seen: set[Any], scope: tuple[str, ...], active: _Active
    ) -> Problem | None:
        def judge(name: str, part: Any) -> Problem | None:
            seen.add(name)
            found = self._problem(part, value[name], set(), scope, active)
            return found and (f"[{name!r}]{found[0]}", found[1])

        properties = as_dict(schema.get("properties"))
        patterns = [(compiled(text), part) for text, part in as_dict(schema.get("patternProperties")).items()]
        for name in value:
            parts = [properties[name]] if name in properties else []
            parts += [part for pattern, part in patterns if pattern and pattern.search(name)]
            if not parts and "additionalProperties" in schema:
                parts = [schema["additionalProperties"]]
            for part in parts:
                found = judge(name, part)
                if found:
                    return found
            if "propertyNames" in schema:
                found = self._problem(schema["propertyNames"], name, set(), scope, active)
                if found:
                    return "", f"has the name {name!r}, which {found[1]}"
        for keyword in ("dependentRequired", "dependencies"):
            for name, needed in as_dict(self._of(schema, keyword)).items():
                for other in as_list(needed) if name in value else ():
                    if isinstance(other, str) and other not in value:
                        return "", f"must have {other!r} beside {name!r}"
        for keyword in ("dependentSchemas", "dependencies"):
            for name, part in as_dict(self._of(schema, keyword)).items():
                if name in value:
                    inner: set[Any] = set()
                    found = self._problem(part, value, inner, scope, active)
                    if found:
                        return found
                    seen.update(inner)
        rest = self._of(schema, "unevaluatedProperties")
        if rest is not None:
            for name in [name for name in value if name not in seen]:
                found = judge(name, rest)
                if found:
                    return found
        return None

    def _of_array(
        self, schema: dict[str, Any], value: list[Any], seen: set[Any], scope: tuple[str, ...], active: _Active
    ) -> Problem | None:
        def judge(index: int, part: Any) -> Problem | None:
            seen.add(index)
            found = self._problem(part, value[index], set(), scope, active)
            return found and (f"[{index}]{found[0]}", found[1])

        items = schema.get("items")
        first = items if isinstance(items, list) else as_list(self._of(schema, "prefixItems"))
        rest = schema.get("additionalItems") if isinstance(items, list) else items
        for index in range(len(value)):
            part = first[index] if index < len(first) else rest
            if part is not None:
                found = judge(index, part)
                if found:
                    return found
        if "contains" in schema:
            contains = schema["contains"]
            fitting = [i for i, item in enumerate(value) if self._problem(contains, item, set(), scope, active) is None]
            seen.update(fitting)
            least, most = self._of(schema, "minContains"), self._of(schema, "maxContains")
            least = least if is_number(least) else 1
)py"
R"py(            if len(fitting) < least:
                return "", f"must have {count(least, 'item')} that fit {short(contains)}"
            if is_number(most) and len(fitting) > most:
                return "", f"must have at most {count(most, 'item')} that fit {short(contains)}"
        rest = self._of(schema, "unevaluatedItems")
        if rest is not None:
            for index in [index for index in range(len(value)) if index not in seen]:
                found = judge(index, rest)
                if found:
                    return found
        return None


# --- Schemas of strangers.


def _parts(schema: dict[str, Any]) -> Iterator[Any]:
    """The subschemas of a schema."""
    for keyword, value in schema.items():
        if keyword in _ONE and not isinstance(value, list):
            yield value
        elif keyword in _MANY:
            yield from as_list(value)
        elif keyword in _NAMED:
            yield from as_dict(value).values()


def _nearest(found: list[Problem | None]) -> Problem:
    """The problem by the alternative that fits furthest into the value."""
    return max((problem for problem in found if problem), key=lambda problem: len(problem[0]))
)py", 16161}},
{"_values.py", {R"py("""Values of JSON, and the keywords of JSON Schema that judge them without subschemas. Written by ipybox."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from ._pattern import compiled

#: Where in the value, and what is wrong there.
Problem = tuple[str, str]


def by_value(schema: dict[str, Any], value: Any) -> Problem | None:
    """The problem of a value by the keywords that have no subschemas, or None."""
    types = schema.get("type")
    if types is not None and not _is_of(types, value):
        return "", f"must be {_listing(types if isinstance(types, list) else [types])}, not {_kind(value)}"
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(equal(value, choice) for choice in choices):
        return "", f"must be one of {short(choices)}"
    if "const" in schema and not equal(value, schema["const"]):
        return "", f"must be {short(schema['const'])}"
    sentences = _SENTENCES.get(_kind(value))
    for sentence in sentences(schema, value) if sentences else ():
        return "", sentence
    return None


def equal(a: Any, b: Any) -> bool:
    """Whether two values are the same to JSON: 1 is 1.0, and true is not 1."""
    return bool(_key(a) == _key(b))


def _key(value: Any) -> Any:
    if isinstance(value, dict):
        return "object", frozenset((name, _key(item)) for name, item in value.items())
    if isinstance(value, list):
        return "array", tuple(map(_key, value))
    return isinstance(value, bool), value


def size_of(value: Any) -> int:
    """How many values there are in a value, with itself."""
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + sum(map(size_of, value)) if isinstance(value, list) else 1


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "integer" if value == value // 1 else "number"
    for kind, name in ((str, "string"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return type(value).__name__


_KINDS = {"null", "boolean", "integer", "number", "string", "array", "object"}


def _is_of(types: Any, value: Any) -> bool:
    known = [
        name for name in (types if isinstance(types, list) else [types]) if isinstance(name, str) and name in _KINDS
    ]
    kind = _kind(value)
    return not known or kind in known or (kind == "integer" and "number" in known)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _of_number(schema: dict[str, Any], value: Any) -> Iterator[str]:
    least: Any = schema.get("minimum")
    most: Any = schema.get("maximum")
    above: Any = schema.get("exclusiveMinimum")
    below: Any = schema.get("exclusiveMaximum")
    if above is True:  # draft 4
        above, least = least, None
    if below is True:
        below, most = most, None
    if is_number(least) and value < least:
        yield f"must be at least {least}"
    if is_number(above) and value <= above:
        yield f"must be more than {above}"
    if is_number(most) and value > most:
        yield f"must be at most {most}"
    if is_number(below) and value >= below:
        yield f"must be less than {below}"
    step: Any = schema.get("multipleOf")
    if is_number(step) and step > 0 and not _is_multiple(value, step):
        yield f"must be a multiple of {step}"


def _is_multiple(value: Any, step: Any) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    from fractions import Fraction  # exact: 0.3 is a multiple of 0.1

    return (Fraction(str(value)) / Fraction(str(step))).denominator == 1


def _of_string(schema: dict[str, Any], value: str) -> Iterator[str]:
    yield from _of_size(schema, len(value), "Length", "character")
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        expression = compiled(pattern)
        if expression and expression.search(value) is False:
            yield f"must match {pattern}"


def _of_list(schema: dict[str, Any], value: list[Any]) -> Iterator[str]:
    yield from _of_size(schema, len(value), "Items", "item")
    if schema.get("uniqueItems") is True and len({_key(item) for item in value}) < len(value):
        yield "must not have the same item twice"


def _of_members(schema: dict[str, Any], value: dict[str, Any]) -> Iterator[str]:
    yield from _of_size(schema, len(value), "Properties", "member")
    for name in as_list(schema.get("required")):
        if isinstance(name, str) and name not in value:
            yield f"must have {name!r}"


def _of_size(schema: dict[str, Any], size: int, what: str, thing: str) -> Iterator[str]:
    least: Any = schema.get(f"min{what}")
    most: Any = schema.get(f"max{what}")
    if is_number(least) and size < least:
        yield f"must have at least {count(least, thing)}"
    if is_number(most) and size > most:
        yield f"must have at most {count(most, thing)}"


_SENTENCES: dict[str, Callable[[dict[str, Any], Any], Iterator[str]]] = {
    "integer": _of_number,
    "number": _of_number,
    "string": _of_string,
    "array": _of_list,
    "object": _of_members,
}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def count(number: Any, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _listing(words: list[Any]) -> str:
    return " or ".join(map(str, words))


def short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"
)py", 5864}},
};

/// `__init__.py` of the directory that the packages are in.
inline constexpr std::string_view root_index{R"py("""Tools of MCP servers: a package for each server, a module for each tool. Written by ipybox.

search("words") finds tools by what they are called and what they do, describe("server.tool") shows how one is called,
describe("server") lists what a server has, with its instructions. None of them imports a tool.

    from mcptools.server import tool
    result = tool.run(field=...)                                          # or: await tool.run(field=...)
    results = await asyncio.gather(tool.arun(field=...), tool.arun(...))  # arun: calls run beside each other

    with mcptools.progress(print): ...    # calls of tools within tell how far they have come

    mcptools.read(uri, server="name").text    # a resource; also read(link), of a link that came with a result
    mcptools.resources("name"), mcptools.resource_templates("name"), mcptools.prompts("name")
    mcptools.prompt("name", "prompt", argument="text").text
"""

from __future__ import annotations

# A server's package becomes an attribute of this module, so what functions need here has an underscore before it.
import json as _json
import math as _math
import re as _re
import sys as _sys
from ast import literal_eval as _literal_eval
from bisect import bisect_left as _bisect_left
from collections import defaultdict as _defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager
from difflib import get_close_matches as _get_close_matches
from importlib import import_module as _import_module
from importlib import invalidate_caches as _invalidate_caches
from pathlib import Path as _Path
from typing import Any, NamedTuple
from urllib.parse import unquote as _unquote

__all__ = [
    "aread", "describe", "progress", "prompt", "prompts", "read", "resource_templates", "resources", "search",
]  # fmt: skip


class Text(str):
    """A text that a notebook shows as it is."""

    def __repr__(self) -> str:
        return str(self)


class _Tool(NamedTuple):
    server: str
    module: str
    listed: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.server}.{self.module}"

    def properties(self) -> dict[str, Any]:
        schema = self.listed.get("inputSchema")
        properties = schema.get("properties") if isinstance(schema, dict) else None
        return properties if isinstance(properties, dict) else {}

    def line(self) -> str:
        return "".join(c if c.isprintable() else repr(c)[1:-1] for c in self._line())

    def _line(self) -> str:
        schema = self.listed.get("inputSchema")
        required = schema.get("required") if isinstance(schema, dict) else None
        names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
        if len(self.properties()) > len(names):
            names.append("...")
        text = " ".join(str(self.listed.get("description") or self.listed.get("title") or "").split())
        sentence = _re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]
        short = sentence if len(sentence) <= 100 else sentence[:99] + "…"
        return f"{self.name}({', '.join(names)})" + (f" - {short}" if short else "")

    def texts(self) -> list[str]:
        """The texts that are searched, in the order of _WEIGHTS. Of long texts the beginning."""
        return [
            _HUMP.sub(" ", f"{self.server} {self.module} {self.listed['name']}"),
            str(self.listed.get("title") or "")[:200],
            str(self.listed.get("description") or "")[:600],
            _HUMP.sub(" ", " ".join(list(self.properties())[:50])),
        ]


#: How much a word counts in a name, a title, a description, and the names of fields.
_WEIGHTS = (4.0, 3.0, 1.0, 0.5)


class _Index:
    """Tools by their words, ranked by BM25F: rare words count more, and words of a name more than others."""

    #: A tool that fits less than that, beside the best one, is not listed.
    LEAST = 0.1

    def __init__(self, tools: list[_Tool]) -> None:
        self.tools = tools
        self.places = _defaultdict[str, dict[int, float]](dict)  # of a stem: the tools that have it, and how much
        texts = [[_stems(text) for text in tool.texts()] for tool in tools]
        means = [sum(map(len, column)) / len(column) or 1 for column in zip(*texts, strict=True)]
        for number, columns in enumerate(texts):
            counts: dict[str, float] = {}
            for weight, mean, stems in zip(_WEIGHTS, means, columns, strict=True):
                count = weight / (0.25 + 0.75 * len(stems) / mean)
                for stem in stems:
                    counts[stem] = counts.get(stem, 0) + count
            for stem, count in counts.items():
                self.places[stem][number] = count
        self.stems = sorted(self.places)

    def search(self, words: str) -> list[_Tool]:
        asked = _words(_HUMP.sub(" ", words))
        stems = dict.fromkeys(_stem[word] for word in [word for word in asked if word not in _STOPPED] or asked)
        scores: dict[int, float] = {}
        hits: dict[int, int] = {}
        for stem in stems:
            best: dict[int, float] = {}  # of the forms of a word the one that fits best counts
            for form, share in self._forms(stem):
                places = self.places[form]
                rarity = share * _math.log(1 + (len(self.tools) - len(places) + 0.5) / (len(places) + 0.5))
                for number, count in places.items():
                    score = rarity * count * 2.2 / (count + 1.2)
                    best[number] = max(score, best.get(number, 0))
            for number, score in best.items():
                scores[number] = scores.get(number, 0) + score
                hits[number] = hits.get(number, 0) + 1
        for number, hit in hits.items():  # one that has more of the words
            scores[number] *= (hit / len(stems)) ** 0.5
        least = self.LEAST * max(scores.values(), default=0)
        ranked = sorted(scores, key=lambda number: (-scores[number], number))
        return [self.tools[number] for number in ranked if scores[number] >= least]

    def _forms(self, stem: str) -> list[tuple[str, float]]:
        """The stem, and those that begin with it: todoist for todo."""
        forms = [(stem, 1.0)] if stem in self.places else []
        if len(stem) >= 3:
            at = _bisect_left(self.stems, stem)
            while at < len(self.stems) and self.stems[at].startswith(stem):
                if self.stems[at] != stem:
                    forms.append((self.stems[at], len(stem) / len(self.stems[at]) / 2))
                at += 1
        return forms


#: Words of a question that say nothing about a tool.
_STOPPED = {
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "into", "is", "it", "its", "of", "on", "or",
    "that", "the", "their", "this", "to", "with",
}  # fmt: skip

_WORD = _re.compile(r"[^\W_]+")
_HUMP = _re.compile(r"(?<=[a-z])(?=[A-Z])")
_BLANKS = {code: " " for code in range(128) if not chr(code).isalnum()}


def _words(text: str) -> list[str]:
    text = text.lower()
    return text.translate(_BLANKS).split() if text.isascii() else _WORD.findall(text)


def _stems(text: str) -> list[str]:
    return [_stem[word] for word in _words(text)]


class _Stem(dict[str, str]):
    """Words without their endings: each is looked at once."""

    def __missing__(self, word: str) -> str:
        stem = self[word] = _without_ending(word)
        return stem


_stem = _Stem()
_VOWELS = frozenset("aeiouy")


def _without_ending(word: str) -> str:
    """`creates`, `created`, `creating` and `creation` are `creat`."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed", "ion", "e"):
        rest = word[: -len(ending)]
        if word.endswith(ending) and len(rest) >= 3 and not _VOWELS.isdisjoint(rest):
            if ending == "ion" and rest[-1] not in "st":
                continue
            doubled = ending in ("ing", "ed") and rest[-1] == rest[-2] and rest[-1] not in "lsz"
            return rest[:-1] if doubled else rest
    return word


_index: tuple[object, _Index] = (None, _Index([]))


def _indexed(servers: list[str]) -> _Index:
    """The index of all tools, made when it is first needed, and anew when a list has changed."""
    global _index
    files = {server: _root() / server / "_schemas.json" for server in servers}
    state = [(str(file), status.st_ino, status.st_mtime_ns) for file in files.values() for status in [file.stat()]]
    if _index[0] != state:
        _index = (state, _Index([tool for server in files for tool in _tools(server)]))
    return _index[1]


def search(words: str = "", limit: int = 20) -> Text:
    """The tools that fit the words best, by name, title, description and parameters. Without words: all."""
    states = _packages()
    index = _indexed(_usable(states))
    found = index.search(words) if words.strip() else index.tools
    lines = [tool.line() for tool in found[:limit]]
    if not found:
        lines = [f"None of {len(index.tools)} tools has {words!r}. Other words may; search() lists all."]
    if len(found) > limit:
        lines.append(f"… and {len(found) - limit} more: search({words!r}, limit={len(found)})")
    lines += [f"Without those of {server}: {why}" for server, why in sorted((states or {}).items()) if why]
    return Text("\n".join(lines))


def describe(name: str, limit: int = 12_000) -> Text:
    """The interface of a tool as Python, or the tools of a server; at most so many characters of it."""
    server, _, tool_name = name.removeprefix(f"{__name__}.").partition(".")
    server = _known(server)
    states = _packages(server)
    if why := (states or {}).get(server):
        raise LookupError(why)
    if server not in _usable(states):
        servers = _servers()
        raise LookupError(f"there is no server {server!r}; there are: {', '.join(servers) or 'none'}")
    tools = _tools(server)
    if not tool_name:
        lines = "\n".join(tool.line() for tool in tools) or f"{server} has no tools"
        return _bounded(name, _instructions(server) + lines, limit)
    for tool in tools:
        if tool_name in (tool.module, tool.listed.get("name")):
            source = (_root() / server / f"{tool.module}.py").read_text(encoding="utf-8")
            interface = source.partition("\n\n\n")[2]  # what follows the imports
            unset = "\n# = UNSET: optional, and not sent unless it is given" if "UNSET" in interface else ""
            classes, *functions = _re.split(r"^(?=@tool\n)", interface, flags=_re.MULTILINE)
            run = functions[0].removeprefix("@tool\n").rstrip() if functions else ""
            if len(run) > limit // 2 and len(run) + len(classes) > limit:  # a long description hides no field
                run = run[: limit // 2].rpartition("\n")[0] + "\n    …"
            text = f"from {__name__}.{server} import {tool.module}\n{unset}\n\n{run}\n\n\n{classes}".rstrip()
            whole = len(text) + sum(map(len, functions)) if "\n    …" in run else len(text)
            return _bounded(name, text + _checks(interface, tool.listed), limit, whole)
    close = _get_close_matches(tool_name, [tool.module for tool in tools], n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(close)}?" if close else f"describe({server!r}) lists what it has"
    raise LookupError(f"{server} has no tool {tool_name!r}: {hint}")


def progress(heard: Callable[[Any], object] = print) -> AbstractContextManager[None]:
    """Within it, calls of tools tell how far they have come: `heard(report)`, with `done`, `total` and `message`."""
    from ipybox_kernel import tools

    return tools.progress(heard)


def read(uri: Any, server: str | None = None) -> Any:
    """The contents of a resource of a server: a list of what has `text` or `data`, as it has itself if there is one.

    `uri` may be a link that came with a result, which knows its server.
    """
    from ipybox_kernel import resources

    return resources.read(uri, _known(server))


async def aread(uri: Any, server: str | None = None) -> Any:
    """read() for await: requests run beside each other."""
    from ipybox_kernel import resources

    return await resources.aread(uri, _known(server))


def resources(server: str) -> Any:
    """The resources that a server lists: links with `uri`, `name`, `title`, `description`, `mime`."""
    from ipybox_kernel import resources

    return resources.resources(_known(server))


def resource_templates(server: str) -> Any:
    """The forms of the URIs of resources that a server does not list one by one: `uri_template`, `name`, …"""
    from ipybox_kernel import resources

    return resources.resource_templates(_known(server))


def prompts(server: str) -> Any:
    """The prompts that a server has: `name`, `title`, `description`, `arguments`."""
    from ipybox_kernel import resources

    return resources.prompts(_known(server))


def prompt(server: str, name: str, /, **arguments: Any) -> Any:
    """A prompt of a server, filled in: a list of messages with `role` and `content`, and their `text`."""
    from ipybox_kernel import resources

    return resources.prompt(_known(server), name, **arguments)


def _known(server: Any) -> Any:
    """The name of a server as Python has it: brave_search for brave-search. The host refuses one that is not known."""
    servers = _servers()
    if not isinstance(server, str) or server in servers:
        return server
    return {known.lower(): known for known in servers}.get(_re.sub(r"\W", "_", server).lower(), server)


def _bounded(name: str, text: str, limit: int, whole: int = 0) -> Text:
    whole = max(whole, len(text))
    if whole <= limit:
        return Text(text)
    kept = text if len(text) <= limit else text[:limit].rpartition("\n")[0] or text[:limit]
    return Text(f"{kept}\n… not all of it: describe({name!r}, limit={whole}) shows the rest")


def _checks(interface: str, listed: dict[str, Any]) -> str:
    """The parts of the listed schema that the interface names, as comments: _params("#/properties/x") checks by one."""
    lines = []
    for kind, pointer in dict.fromkeys(_re.findall(r'_(params|result)\(("#(?:[^"\\]|\\.)*")\)', interface)):
        part: Any = listed.get("inputSchema" if kind == "params" else "outputSchema")
        for step in _unquote(_literal_eval(pointer)).split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            part = part[int(step)] if isinstance(part, list) else part[step]
        text = _json.dumps(part, ensure_ascii=False)
        lines.append(f"# _{kind}({pointer}): {text if len(text) <= 1000 else text[:999] + '…'}")
    return "\n\n\n" + "\n".join(lines) if lines else ""


def __getattr__(name: str) -> Any:
    """The package of a server, which need not be imported."""
    known = [] if name.startswith("_") else _servers()
)py"
R"py(    if name in known:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_hint(name, known)}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_servers()})


def _hint(name: str, known: list[str]) -> str:
    close = _get_close_matches(name, known, n=1)
    return f": did you mean {close[0]!r}?" if close else ""


class _Finder:
    """Finds nothing: before a package is imported it has the host generate it. What is misspelt it refuses with a hint.

    It does so by an ImportError: `from PACKAGE import NAME` drops those that say that NAME is no module.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        parent, _, server = name.partition(f"{__name__}.")
        server, _, module = server.partition(".")
        if parent or not server or module.startswith("_"):
            return
        states = _packages(server)
        if why := (states or {}).get(server):
            raise ImportError(why, name=name)
        if states:
            _invalidate_caches()
        refusal = _misspelt_tool(server, module) if module else _misspelt_server(server, states)
        if refusal:
            raise ImportError(refusal, name=name)


def _misspelt_tool(server: str, tool: str) -> str:
    """The reason why a tool is missing. An empty text if it exists, or its package has not been imported."""
    package = _sys.modules.get(f"{__name__}.{server}")
    if package and "__getattr__" in vars(package) and tool not in dir(package):
        try:
            getattr(package, tool)
        except AttributeError as error:
            return str(error)
    return ""


def _misspelt_server(server: str, states: dict[str, str | None] | None) -> str:
    """The reason why a server is missing. An empty text if it exists, or no server has a similar name."""
    known = [] if states is None or states else sorted({*_servers(), *_written()})
    hint = "" if server in known else _hint(server, known)
    return hint and f"there is no MCP server {server!r}{hint}"


_sys.meta_path[:] = [
    _Finder(),  # type: ignore[list-item]
    *(finder for finder in _sys.meta_path if (type(finder).__module__, type(finder).__name__) != (__name__, "_Finder")),
]


def _packages(server: str = "", *, wait: bool = True) -> dict[str, str | None] | None:
    """The packages that the host has, each with None or why it is not there; of one server, or all. None: no host."""
    try:
        from ipybox_kernel import tools
    except ImportError:
        return None
    return tools.packages(server, wait=wait)


def _root() -> _Path:
    return _Path(__file__).parent


def _written() -> list[str]:
    return sorted(path.parent.name for path in _root().glob("[A-Za-z]*/_schemas.json"))


def _servers() -> list[str]:
    states = _packages(wait=False)
    return sorted(_written() if states is None else states)


def _usable(states: dict[str, str | None] | None) -> list[str]:
    """The servers whose tools can be called."""
    return [name for name in _written() if states is None or (name in states and not states[name])]


def _document(server: str) -> dict[str, Any]:
    document: dict[str, Any] = _json.loads((_root() / server / "_schemas.json").read_bytes())
    return document


def _instructions(server: str) -> str:
    """What the server's author says about its use, set apart as the words of another."""
    text = _document(server).get("instructions")
    if not isinstance(text, str) or not text.strip():
        return ""
    lines = ["".join(c if c.isprintable() else repr(c)[1:-1] for c in line) for line in text.strip().splitlines()]
    return "Instructions of the server's author:\n" + "\n".join(f"    {line}".rstrip() for line in lines) + "\n\n"


def _tools(server: str) -> list[_Tool]:
    document = _document(server)
    listed = {tool["name"]: tool for tool in document["tools"]}
    return [_Tool(server, module, listed[name]) for module, name in document["modules"].items()]
)py", 19033};

} // namespace ipybox::codegen::detail
// clang-format on
