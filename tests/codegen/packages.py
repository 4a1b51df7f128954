"""Generated packages as values of a test: tools in, modules out."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import subprocess
import sys
import types
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: The files that every package has.
SUPPORT = sorted((HERE.parents[1] / "python" / "mcp_support").glob("_*.py"))
WRITER = os.environ.get("IPYBOX_WRITE_PACKAGES", "")

#: The error of classes that refuse a value: ArgumentsError of a constructor, ValidationError of Pydantic.
Refused = ValueError

_numbers = itertools.count()


class Runner:
    """Stands for the client that a kernel brings: remembers calls, and answers what it is told to."""

    answer: Any = None

    def __init__(self, server_name: str) -> None:
        self.server_name = server_name
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def run_sync(self, tool_name: str, tool_args: dict[str, Any]) -> Any:
        self.calls.append((tool_name, json.loads(json.dumps(tool_args))))
        return self.answer

    async def run(self, tool_name: str, tool_args: dict[str, Any]) -> Any:
        return self.run_sync(tool_name, tool_args)


def install_runner() -> None:
    """Makes `from ipybox_kernel.tools import ToolRunner` mean the stand-in."""
    package, tools = types.ModuleType("ipybox_kernel"), types.ModuleType("ipybox_kernel.tools")
    tools.ToolRunner = Runner  # type: ignore[attr-defined]
    tools.packages = lambda server="", *, wait=True: None  # type: ignore[attr-defined]
    sys.modules.setdefault("ipybox_kernel", package)
    sys.modules["ipybox_kernel.tools"] = tools


def tool(name: str = "tool", schema: Any = None, **members: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"} if schema is None else schema, **members}


def write(
    root: Path, packages: list[dict[str, Any]], *arguments: str, prefix: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """What the generator says of each package."""
    request = json.dumps({"root": str(root), "packages": packages})
    done = run_writer(request, *arguments, prefix=prefix)
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def run_writer(request: str, *arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    assert WRITER, "IPYBOX_WRITE_PACKAGES does not say where the program write_packages is"
    return subprocess.run(
        [*prefix, WRITER, *arguments], input=request, capture_output=True, text=True, timeout=300, check=False
    )


class Packages:
    """A directory of generated packages that can be imported under a name of its own."""

    def __init__(self, directory: Path) -> None:
        self.name = f"tools_{next(_numbers)}"
        self.root = directory / self.name
        self.answers: list[dict[str, Any]] = []
        sys.path.insert(0, str(directory))
        importlib.invalidate_caches()

    def generate(self, *packages: dict[str, Any]) -> list[dict[str, Any]]:
        self.answers = write(self.root, list(packages))
        importlib.invalidate_caches()
        return self.answers

    def module(self, name: str = "server.tool") -> Any:
        """An imported module; warnings are errors."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return importlib.import_module(f"{self.name}.{name}")

    def text(self, name: str = "server.tool") -> str:
        return (self.root / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8")

    def tool(self, schema: Any, **members: Any) -> Any:
        """The module of a single tool."""
        self.generate({"server": "server", "tools": [tool("tool", schema, **members)]})
        return self.module()


def same(a: Any, b: Any) -> bool:
    """Equality of JSON: 1 is 1.0, and true is not 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(value, b[name]) for name, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return (type(a) in (int, float) and type(b) in (int, float) and a == b) or (type(a) is type(b) and a == b)
