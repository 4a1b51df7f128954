"""Tools of MCP servers: a package for each server, a module for each tool. Written by ipybox.

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
    if name in known:
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
