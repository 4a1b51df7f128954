"""The package's way to its server, and its tools by name. Written by ipybox together with its package."""

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
