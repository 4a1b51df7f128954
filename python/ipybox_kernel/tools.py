"""Calls of MCP tools: ``ToolRunner``, its errors, and what tools answer beside text."""

from __future__ import annotations

import json
from typing import Any

from ipybox_kernel import actions
from ipybox_kernel.actions import ApprovalRejectedError, ApprovalTimeoutError, ToolRunnerError
from ipybox_kernel.inbox import Answer

__all__ = [
    "ApprovalRejectedError",
    "ApprovalTimeoutError",
    "Audio",
    "Blob",
    "Content",
    "Image",
    "ToolRunner",
    "ToolRunnerError",
]


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

        A result with images, audio or files is displayed with them, and has them as ``parts``.

        Raises:
            ApprovalRejectedError: the call was rejected.
            ApprovalTimeoutError: nobody decided about it in time.
            ToolRunnerError: the tool failed, or could not be called.
        """
        head, body = self._request(tool_name, tool_args)
        return result(actions.channel().call("call", head, body))

    async def run(self, tool_name: str, tool_args: dict[str, Any]) -> Any:
        """The same for ``await``."""
        head, body = self._request(tool_name, tool_args)
        return result(await actions.channel().call_async("call", head, body))

    def _request(self, tool_name: str, tool_args: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        return {"server": self.server_name, "tool": tool_name}, encode(tool_args).encode()

    def __repr__(self) -> str:
        return f"ToolRunner(server_name={self.server_name!r})"


class Content:
    """Something binary that a tool answered: ``data``, and its MIME type as ``mime``."""

    def __init__(self, data: bytes, mime: str) -> None:
        self.data = data
        self.mime = mime

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.mime}, {len(self.data)} bytes>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"text/plain": repr(self), self.mime: self.data}


class Image(Content):
    """An image."""


class Audio(Content):
    """A recording."""


class Blob(Content):
    """A file."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"text/plain": repr(self)}  # there is nothing to look at


class Mixed:
    """What text and structured results are too if other content came with them."""

    parts: list[Content]

    def _ipython_display_(self) -> None:
        from IPython.display import display

        if self:
            display({"text/plain": repr(self)}, raw=True)
        for part in self.parts:
            display(part)


class MixedText(Mixed, str):
    """Text, and ``parts``."""


class MixedObject(Mixed, dict[str, Any]):
    """A structured result, and ``parts``."""


class MixedList(Mixed, list[Any]):
    """A structured result, and ``parts``."""


CONTENTS = {"image": Image, "audio": Audio, "blob": Blob}
MIXED: dict[type, Any] = {str: MixedText, dict: MixedObject, list: MixedList}


def result(answer: Answer) -> Any:
    """What a tool answered, as Python has it."""
    head, body = answer.head, answer.body
    parts = head.get("parts", [])
    end = len(body) - sum(part["size"] for part in parts)
    value = str(body[:end], "utf-8") if head["text"] else json.loads(bytes(body[:end]))
    if parts and type(value) in MIXED:
        value = MIXED[type(value)](value)
        value.parts = []
        for part in parts:
            value.parts.append(CONTENTS[part["type"]](bytes(body[end : end + part["size"]]), part["mime"]))
            end += part["size"]
    return value


def plain(value: Any) -> Any:
    """What is no JSON by itself: models, dates, paths and their like."""
    try:
        from pydantic_core import to_jsonable_python
    except ImportError:
        raise TypeError(f"{type(value).__name__} is not JSON") from None
    return to_jsonable_python(value)


encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain).encode
