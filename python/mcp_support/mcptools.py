"""Tools of MCP servers: a package for each server, a module for each tool. Written by ipybox.

search("words") finds tools by what they are called and what they do, describe("server.tool") shows how one is called,
describe("server") lists what a server has. None of them imports a tool.

    with mcptools.progress(print): ...    # calls of tools within tell how far they have come
"""

from __future__ import annotations

# A server's package becomes an attribute of this module, so what functions need here has an underscore before it.
import json as _json
import re as _re
from ast import literal_eval as _literal_eval
from collections.abc import Callable
from contextlib import AbstractContextManager
from difflib import get_close_matches as _get_close_matches
from importlib import import_module as _import_module
from pathlib import Path as _Path
from typing import Any, NamedTuple
from urllib.parse import unquote as _unquote

__all__ = ["describe", "progress", "search"]


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

    def score(self, words: list[str]) -> int:
        """How well it fits; 0 where a word is nowhere."""
        places = [
            (8, f"{self.name} {self.listed.get('name')}"),
            (4, str(self.listed.get("title") or "")),
            (2, str(self.listed.get("description") or "")),
            (1, " ".join(self.properties())),
        ]
        scores = [sum(weight for weight, text in places if word in text.lower()) for word in words]
        return sum(scores) if all(scores) else 0


def search(words: str = "", limit: int = 20) -> Text:
    """The tools that have all the words in name, title, description or parameters; the best come first."""
    wanted = words.lower().split()
    tools = [tool for server in _servers() for tool in _tools(server)]
    found = sorted((tool for tool in tools if tool.score(wanted) or not wanted), key=lambda t: -t.score(wanted))
    if not found:
        return Text(f"None of {len(tools)} tools has {words!r}. Fewer words find more; search() lists all.")
    lines = [tool.line() for tool in found[:limit]]
    if len(found) > limit:
        lines.append(f"… and {len(found) - limit} more: search({words!r}, limit={len(found)})")
    return Text("\n".join(lines))


def describe(name: str) -> Text:
    """The interface of a tool as Python, or the tools of a server."""
    server, _, tool_name = name.removeprefix(f"{__name__}.").partition(".")
    servers = _servers()
    if server not in servers:  # as its configuration has it, perhaps: brave-search for brave_search
        server = {known.lower(): known for known in servers}.get(_re.sub(r"\W", "_", server).lower(), server)
    if server not in servers:
        raise LookupError(f"there is no server {server!r}; there are: {', '.join(servers) or 'none'}")
    tools = _tools(server)
    if not tool_name:
        return Text("\n".join(tool.line() for tool in tools) or f"{server} has no tools")
    for tool in tools:
        if tool_name in (tool.module, tool.listed.get("name")):
            source = (_root() / server / f"{tool.module}.py").read_text(encoding="utf-8")
            interface = source.partition("\n\n\n")[2]  # what follows the imports
            unset = "\n# = UNSET: optional, and not sent unless it is given" if "UNSET" in interface else ""
            checks = _checks(interface, tool.listed)
            return Text(f"from {__name__}.{server} import {tool.module}\n{unset}\n\n{interface.rstrip()}{checks}")
    close = _get_close_matches(tool_name, [tool.module for tool in tools], n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(close)}?" if close else f"describe({server!r}) lists what it has"
    raise LookupError(f"{server} has no tool {tool_name!r}: {hint}")


def progress(heard: Callable[[Any], object] = print) -> AbstractContextManager[None]:
    """Within it, calls of tools tell how far they have come: `heard(report)`, with `done`, `total` and `message`."""
    from ipybox_kernel import tools

    return tools.progress(heard)


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
    if not name.startswith("_") and name in _servers():
        return _import_module(f"{__name__}.{name}")
    close = _get_close_matches(name, _servers(), n=1)
    hint = f": did you mean {close[0]!r}?" if close else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_servers()})


def _root() -> _Path:
    return _Path(__file__).parent


def _servers() -> list[str]:
    return sorted(path.parent.name for path in _root().glob("[A-Za-z]*/_schemas.json"))


def _tools(server: str) -> list[_Tool]:
    document = _json.loads((_root() / server / "_schemas.json").read_bytes())
    listed = {tool["name"]: tool for tool in document["tools"]}
    return [_Tool(server, module, listed[name]) for module, name in document["modules"].items()]
