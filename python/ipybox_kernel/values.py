"""Values of a session as JSON, for the host, which has this text executed in whatever IPython kernel there is.

An answer is ``=`` and JSON, or ``!`` and the reason why there is none.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from IPython import get_ipython

LONGEST = 1 << 20  # bytes of JSON
TOO_LONG = f"larger than {LONGEST >> 20} MiB as JSON"
MAX_NAME = 100  # characters of a type


class Answer:
    """A text that IPython shows as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text)


def last() -> Answer:
    """The value of the last expression of the cell that has run, unless it is None."""
    result = get_ipython().last_execution_result
    value = None if result is None else result.result
    return Answer("!the code does not end with an expression that has a value") if value is None else answer(value)


def get(name: str) -> Answer:
    """The value of a variable."""
    variables = get_ipython().user_ns
    if name not in variables:
        raise NameError(f"name {name!r} is not defined")
    return answer(variables[name])


def put(name: str, text: str) -> Answer:
    """Sets a variable."""
    get_ipython().push({name: json.loads(text)})
    return Answer("=null")


def answer(value: Any) -> Answer:
    """The JSON of a value. No ``repr`` is called, but a dictionary may be of a class of the code's own."""
    try:
        text = encode(value)
        if text is None or len(text.encode()) > LONGEST:
            return Answer(f"!{TOO_LONG}")
        return Answer(f"={text}")
    except UnicodeEncodeError:
        what = "a text that is not Unicode"
    except RecursionError:
        what = "it is nested too deeply"
    except Exception as error:
        said = error.args[0] if error.args and type(error) in (TypeError, ValueError) else None
        what = said if type(said) is str else f"{name_of(type(error))} was raised"
    return Answer(f"!not JSON: {what}")


def encode(value: Any) -> str | None:
    """The JSON of a value; none where that is too long, of which no more is made than is needed to know."""
    if isinstance(value, str) and len(value) > LONGEST:
        return None
    pieces, size = [], 0
    for piece in ENCODER.iterencode(value):
        size += len(piece)
        if size > LONGEST:
            return None
        pieces.append(piece)
    return "".join(pieces)


def scalar(value: Any) -> Any:
    """The number that a scalar of NumPy stands for."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.number, numpy.bool_)):
        number = value.item()
        if type(number) in (bool, int, float) and not isinstance(value, numpy.timedelta64):
            return number
    raise TypeError(f"a value of type {name_of(type(value))}")


def name_of(kind: type) -> str:
    return kind.__name__[:MAX_NAME]


ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=scalar)
