"""Calls of MCP tools: ``ToolRunner``, its errors, and what tools answer beside text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from ipybox_kernel import actions
from ipybox_kernel.actions import ApprovalRejectedError, ApprovalTimeoutError, ToolRunnerError
from ipybox_kernel.inbox import Answer

__all__ = [
    "ApprovalRejectedError",
    "ApprovalTimeoutError",
    "Audio",
    "Blob",
    "Content",
    "Document",
    "Image",
    "Link",
    "Progress",
    "ToolRunner",
    "ToolRunnerError",
    "Unreadable",
    "packages",
    "progress",
]


class Progress(NamedTuple):
    """How far a tool has come."""

    done: float  #: grows with each report
    total: float | None = None  #: what it will be at the end, where that is known
    message: str | None = None  #: what the tool is doing

    def __str__(self) -> str:
        of = "" if self.total is None else f" of {self.total:g}"
        return f"{self.done:g}{of}" + (f": {self.message}" if self.message else "")


_listener: ContextVar[Callable[[Progress], object] | None] = ContextVar("_listener", default=None)


@contextmanager
def progress(heard: Callable[[Progress], object] = print) -> Iterator[None]:
    """Within it, calls of tools tell `heard` how far they have come: those of this thread, and of its tasks.

    An exception of `heard` ends the call.
    """
    token = _listener.set(heard)
    try:
        yield
    finally:
        _listener.reset(token)


def _reported(heard: Callable[[Progress], object]) -> Callable[[dict[str, Any]], object]:
    return lambda head: heard(Progress(head["done"], head.get("total"), head.get("message")))


class ToolRunner:
    """Calls the tools of one MCP server. The host knows how to reach it, and asks before a tool runs.

    Parameters of a server, a host and a port are taken, since generated packages may have them, and have no effect.
    """

    def __init__(
        self,
        server_name: str,
        server_params: dict[str, Any] | None = None,
        host: str | None = None,
        port: int | None = None,
    ) -> None:
        self.server_name = server_name

    def run_sync(self, tool_name: str, tool_args: dict[str, Any]) -> Any:
        """Calls a tool and returns its result: text, or what its structured result holds.

        A result with images, audio, files or links is displayed with them, and has them as ``parts``.

        Raises:
            ApprovalRejectedError: the call was rejected.
            ApprovalTimeoutError: no decision about it came in time.
            ToolRunnerError: the tool failed, or could not be called.
        """
        head, body = self._request(tool_name, tool_args)
        if heard := _listener.get():
            heard_call = actions.channel().call_heard
            return self._result(heard_call("call", {**head, "progress": True}, body, _reported(heard)))
        return self._result(actions.channel().call("call", head, body))

    async def run(self, tool_name: str, tool_args: dict[str, Any]) -> Any:
        """The same for ``await``."""
        head, body = self._request(tool_name, tool_args)
        if heard := _listener.get():
            head["progress"] = True
            return self._result(await actions.channel().call_async("call", head, body, _reported(heard)))
        return self._result(await actions.channel().call_async("call", head, body))

    def _result(self, answer: Answer) -> Any:
        return result(answer, self.server_name)

    def _request(self, tool_name: str, tool_args: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        try:
            return {"server": self.server_name, "tool": tool_name}, encode(tool_args).encode()
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            reason = f"hold {half!r}, half of a surrogate pair, which no text in UTF-8 has: replace it"
        except RecursionError:
            reason = "are nested too deeply"
        raise ToolRunnerError(f"the arguments of {self.server_name}.{tool_name} {reason}")

    def __repr__(self) -> str:
        return f"ToolRunner(server_name={self.server_name!r})"


def packages(server: str = "", *, wait: bool = True) -> dict[str, str | None] | None:
    """Has the host generate the package of a server, or of all, and waits for it.

    Returns the servers that the host knows, each with None or why its package is not there; None where no host is.
    """
    try:
        answer = actions.channel().call("packages", {"server": server, "wait": wait}, b"")
    except ToolRunnerError:
        return None
    states: dict[str, str | None] = json.loads(str(answer.body, "utf-8"))
    return states


def _printable(text: str) -> str:
    """The text of a server, without what a terminal would obey."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class Content:
    """Something beside text that a tool answered: ``data``, its MIME type as ``mime``, and the ``uri`` of a file."""

    def __init__(self, data: bytes, mime: str, uri: str | None = None) -> None:
        self.data = data
        self.mime = mime
        self.uri = uri

    def __repr__(self) -> str:
        where = f" {self.uri}," if self.uri else ""
        return _printable(f"<{type(self).__name__}{where} {self.mime}, {len(self.data)} bytes>")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"text/plain": repr(self)}


class Shown(Content):
    """Content that can be looked at or listened to."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        # the type is the server's word: it does not choose how a front end shows what else there is
        mime = self.mime.partition(";")[0].strip().lower()
        bundle: dict[str, Any] = {"text/plain": repr(self)}
        if mime == "image/svg+xml":
            bundle[mime] = self.data.decode(errors="replace")
        elif re.fullmatch(r"(image|audio)/[a-z0-9.+-]+", mime):
            bundle[mime] = self.data
        return bundle


class Image(Shown):
    """An image."""


class Audio(Shown):
    """A recording."""


class Blob(Content):
    """A file."""


class Document(Content):
    """A file of text. The text of a result has it too."""

    @property
    def text(self) -> str:
        return self.data.decode()


class Unreadable(Content):
    """An image, a recording or a file that is not valid base64: ``data`` is the text that came."""


class Link:
    """A resource that can be read at its server: ``mcptools.read(link)``. The text of a result has the ``uri`` too."""

    def __init__(
        self,
        uri: str,
        name: str,
        title: str | None = None,
        description: str | None = None,
        mime: str | None = None,
        server: str | None = None,
    ) -> None:
        self.uri = uri
        self.name = name
        self.title = title
        self.description = description
        self.mime = mime
        self.server = server

    def __repr__(self) -> str:
        about = "".join(f", {text}" for text in (self.title or self.name, self.description, self.mime) if text)
        return _printable(f"<Link {self.uri}{about}>")


Part = Content | Link


class Awaited:
    """A result that is there: awaited, it is itself, as all results of tools are."""

    _is_result = True

    def __await__(self) -> Generator[Any, None, Any]:
        return self
        yield

    def send(self, value: object) -> Any:
        raise StopIteration(self)

    def throw(self, error: Any, *more: Any) -> Any:
        raise error

    def close(self) -> None:
        pass


class Mixed(Awaited):
    """The second class of a result if more came with it: ``value`` is the result by itself, ``parts`` is the rest."""

    value: Any
    parts: list[Part]

    def carried_by(self, value: Any) -> Any:
        """The same parts with what was made of the value."""
        return with_parts(value, self.parts)

    def show(self, value: Any) -> None:
        """Displays what was made of the value, and the parts."""
        from IPython.display import display

        if value != "":
            display({"text/plain": repr(value)}, raw=True)
        for part in self.parts:
            display(part)

    def _ipython_display_(self) -> None:
        self.show(self.value)


class MixedText(Mixed, str):
    """Text, and ``parts``."""


class MixedObject(Mixed, dict[str, Any]):
    """A structured result, and ``parts``."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # asyncio.gather keeps what it waits for in a dict


class MixedList(Mixed, list[Any]):
    """A structured result, and ``parts``."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class MixedInteger(Mixed, int):
    """A structured result, and ``parts``."""


class MixedNumber(Mixed, float):
    """A structured result, and ``parts``."""


Coroutine.register(Awaited)

CONTENTS: dict[str, type[Content]] = {
    "image": Image,
    "audio": Audio,
    "blob": Blob,
    "document": Document,
    "unreadable": Unreadable,
}
MIXED: dict[type, Any] = {str: MixedText, dict: MixedObject, list: MixedList, int: MixedInteger, float: MixedNumber}


def with_parts(value: Any, parts: list[Part]) -> Any:
    """The value as one that has parts. True, False and None cannot have any: theirs are displayed at once."""
    if type(value) not in MIXED:
        from IPython.display import display

        for part in parts:
            display(part)
        return value
    mixed = MIXED[type(value)](value)
    mixed.value, mixed.parts = value, parts
    return mixed


def result(answer: Answer, server: str | None = None) -> Any:
    """The answer of a tool, as a value of Python."""
    head, body = answer.head, answer.body
    described = head.get("parts", [])
    end = len(body) - sum(part["size"] for part in described)
    value = str(body[:end], "utf-8") if head["text"] else json.loads(str(body[:end], "utf-8"))
    parts: list[Part] = []
    for part in described:
        kind, size = part.pop("type"), part.pop("size")
        data = bytes(body[end : end + size])
        parts.append(Link(**part, server=server) if kind == "link" else CONTENTS[kind](data, **part))
        end += size
    return with_parts(value, parts) if parts else value


def plain(value: Any) -> Any:
    """The JSON of models, dates, paths and their like."""
    try:
        from pydantic_core import to_jsonable_python
    except ImportError:
        raise TypeError(f"{type(value).__name__} is not JSON") from None
    return to_jsonable_python(value)


encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain).encode
