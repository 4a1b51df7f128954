"""Results that are there, and may be awaited all the same. Written by ipybox together with its package."""

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
