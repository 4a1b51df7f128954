"""Resources and prompts of MCP servers: the host asks for them, and asks before it does."""

from __future__ import annotations

import json
import warnings
from base64 import b64decode
from typing import Any, NamedTuple

from ipybox_kernel import actions
from ipybox_kernel.inbox import Answer
from ipybox_kernel.tools import Audio, Awaited, Blob, Content, Document, Image, Link, Part, Unreadable, encode

__all__ = [
    "Contents",
    "Items",
    "Message",
    "Messages",
    "Prompt",
    "PromptArgument",
    "ResourceTemplate",
    "aread",
    "prompt",
    "prompts",
    "read",
    "resource_templates",
    "resources",
]


class Items(Awaited, list[Any]):
    """A list that may be awaited as well: it is there."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # asyncio.gather keeps what it waits for in a dict


class Contents(Items):
    """The contents of a resource, mostly one: each is a `Document` (`text`), or a `Blob` (`data`)."""

    @property
    def text(self) -> str:
        """The text of all documents, one below the other."""
        for content in self:
            if not isinstance(content, Document):
                raise TypeError(f"{content!r} is not text: its bytes are `data`")
        return "\n".join(content.text for content in self)

    @property
    def data(self) -> bytes:
        """The bytes of the only content."""
        if len(self) != 1:
            raise TypeError(f"there are {len(self)} contents, each with its own `data`")
        return bytes(self[0].data)


class ResourceTemplate(NamedTuple):
    """Resources whose URIs have one form: `uri_template` has `{name}` where a URI has a value."""

    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime: str | None = None


class PromptArgument(NamedTuple):
    """An argument of a prompt, a text."""

    name: str
    description: str | None = None
    required: bool = False


class Prompt(NamedTuple):
    """A prompt that a server has, with the arguments that it is filled in with."""

    name: str
    title: str | None = None
    description: str | None = None
    arguments: tuple[PromptArgument, ...] = ()


class Message(NamedTuple):
    """A message of a prompt: who says it, `user` or `assistant`, and a text, or something beside text."""

    role: str
    content: str | Part


class Messages(Items):
    """The messages of a prompt that was filled in."""

    #: What the prompt is for, as the server says.
    description: str | None = None

    @property
    def text(self) -> str:
        """The texts of all messages, one below the other."""
        return "\n".join(message.content for message in self if isinstance(message.content, str))


def read(uri: str | Link, server: str | None = None) -> Contents:
    """The contents of a resource. A link that came with a result knows its server.

    Raises:
        ApprovalRejectedError: the request was rejected.
        ApprovalTimeoutError: no decision about it came in time.
        ToolRunnerError: the server has no such resource, or cannot be asked.
    """
    return _contents(actions.channel().call("ask", *_reading(uri, server)))


async def aread(uri: str | Link, server: str | None = None) -> Contents:
    """read() for await: requests run beside each other."""
    return _contents(await actions.channel().call_async("ask", *_reading(uri, server)))


def resources(server: str) -> Items:
    """The resources that a server lists, each a `Link`."""
    return Items(_link(item, server) for item in _listed("resources/list", server))


def resource_templates(server: str) -> Items:
    """The forms of the URIs of resources that a server does not list one by one."""
    return Items(
        ResourceTemplate(item["uriTemplate"], *_described(item), _text(item, "mimeType"))
        for item in _listed("resources/templates/list", server)
    )


def prompts(server: str) -> Items:
    """The prompts that a server lists."""
    found = Items()
    for item in _listed("prompts/list", server):
        name, title, description = _described(item)
        arguments = tuple(
            PromptArgument(_text(each, "name") or "", _text(each, "description"), each.get("required") is True)
            for each in _objects(item.get("arguments"))
        )
        found.append(Prompt(name, title, description, arguments))
    return found


def prompt(server: str, name: str, /, **arguments: str | float) -> Messages:
    """A prompt of a server, filled in with arguments, which are texts; numbers and truth values are written as JSON."""
    texts = {key: _argument(key, value) for key, value in arguments.items()}
    got = _asked("prompts/get", server, name, texts)
    messages = Messages(
        Message(_text(item, "role") or "user", _block(block, server))
        for item in _objects(got.get("messages"))
        for block in _objects(item.get("content"))
    )
    messages.description = _text(got, "description")
    return messages


def _argument(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise TypeError(f"arguments of a prompt are texts, and {name} is of type {type(value).__name__}")


def _request(method: str, server: str, name: str = "", arguments: dict[str, str] | None = None) -> tuple[Any, bytes]:
    head = {"server": server, "method": method, "name": name}
    return head, b"" if arguments is None else encode(arguments).encode(errors="replace")


def _reading(uri: str | Link, server: str | None) -> tuple[Any, bytes]:
    if isinstance(uri, Link):
        server = server or uri.server
        uri = uri.uri
    if not server:
        raise TypeError(f"which server has {uri}? write read(uri, server=...)")
    return _request("resources/read", server, str(uri))


def _asked(method: str, server: str, name: str = "", arguments: dict[str, str] | None = None) -> dict[str, Any]:
    return _value(actions.channel().call("ask", *_request(method, server, name, arguments)))


def _value(answer: Answer) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(str(answer.body, "utf-8"))
    return value


def _listed(method: str, server: str) -> list[dict[str, Any]]:
    listed = _asked(method, server)
    if listed["remark"]:
        warnings.warn(f"{server}: {listed['remark']}", stacklevel=3)
    return _objects(listed["items"])


# Servers send members of any type: one of a wrong type counts as missing.


def _objects(value: object) -> list[dict[str, Any]]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, dict)]


def _text(item: dict[str, Any], name: str) -> str | None:
    value = item.get(name)
    return value if isinstance(value, str) else None


def _described(item: dict[str, Any]) -> tuple[str, str | None, str | None]:
    return _text(item, "name") or "", _text(item, "title"), _text(item, "description")


def _contents(answer: Answer) -> Contents:
    return Contents(_content(item) for item in _objects(_value(answer).get("contents")))


def _content(item: dict[str, Any]) -> Content:
    uri, mime, text, blob = (_text(item, name) for name in ("uri", "mimeType", "text", "blob"))
    if text is not None or blob is None:
        return Document((text or "").encode(errors="replace"), mime or "text/plain", uri)
    return _decoded(Blob, blob, mime or "application/octet-stream", uri)


def _decoded(kind: type[Content], base64: str, mime: str, uri: str | None = None) -> Content:
    try:
        return kind(b64decode(base64, validate=True), mime, uri)
    except ValueError:
        return Unreadable(base64.encode(), mime, uri)


def _link(item: dict[str, Any], server: str) -> Link:
    name, title, description = _described(item)
    return Link(_text(item, "uri") or "", name, title, description, _text(item, "mimeType"), server)


def _block(block: dict[str, Any], server: str) -> str | Part:
    """A block of a message."""
    kind = block.get("type")
    if kind == "text":
        return _text(block, "text") or ""
    if kind in ("image", "audio"):
        mime = _text(block, "mimeType") or "application/octet-stream"
        return _decoded(Image if kind == "image" else Audio, _text(block, "data") or "", mime)
    if kind == "resource_link":
        return _link(block, server)
    if kind == "resource" and isinstance(block.get("resource"), dict):
        return _content(block["resource"])
    return json.dumps(block, ensure_ascii=False)
