"""The Python side has layers too: its modules import downwards only, within functions and for types as well."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from check_layers import cycles
from tree import REPOSITORY, finish

PACKAGES = [REPOSITORY / "python" / "ipybox_kernel", REPOSITORY / "python" / "mcp_support"]

#: The layers of ipybox_kernel: their modules, and the layers that these may import from beside their own.
LAYERS: dict[str, tuple[set[str], set[str]]] = {
    # texts that run elsewhere
    "alone": ({"installer", "prelude", "values"}, set()),
    # what is asked of the operating system
    "system": (
        {"filters", "hosts", "journal", "landlock", "limits", "packages", "paths", "places", "privileges", "process"}
        | {"caches", "guards", "hints", "refused", "search_path", "workplace"},
        set(),
    ),
    # namespaces between kernels
    "walls": ({"reports", "rooms", "mounts", "walls"}, {"system"}),
    # the supervisor, without the kernels that it forks
    "supervision": (
        {"birth", "broker", "checked", "children", "control", "isolation", "watchdog"},
        {"system", "walls"},
    ),
    # from a kernel to the host: interrupts, messages, output
    "output": ({"interrupt", "pipe", "service", "session", "streams", "wire"}, {"system"}),
    # what IPython and ipykernel do in a kernel
    "cells": (
        {"cells", "debugging", "formats", "hooks", "leaving", "loop", "originals", "plain_traceback", "tracebacks"}
        | {"warming"},
        {"output"},
    ),
    # what code asks of the host
    "actions": (
        {"actions", "aliases", "inbox", "magics", "programs", "resources", "shell", "tools"},
        {"output", "system"},
    ),
    "kernel": ({"kernel", "lean", "serving", "shutdown"}, {"output", "cells", "actions", "system"}),
    # the start of all that
    "start": (
        {"boot", "child", "preload", "supervisor"},
        {"system", "supervision", "output", "cells", "kernel"},
    ),
}


def imported(source: str, package: str, *, everywhere: bool = True) -> set[str]:
    """The modules of a package that a module of it imports: everywhere, or when it is imported itself."""
    found: set[str] = set()
    tree = ast.parse(source)
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[1] for name in node.names if name.name.startswith(f"{package}.")}
        elif isinstance(node, ast.ImportFrom):
            above = (package if node.level else "", node.module or "")
            path = ".".join(part for part in above if part).split(".")
            if path[0] == package:
                found |= {path[1]} if len(path) > 1 else {name.name for name in node.names}
    return found


def graph(folder: Path, *, everywhere: bool = True) -> dict[str, set[str]]:
    modules = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    edges = {name: imported(text, folder.name, everywhere=everywhere) for name, text in modules.items()}
    return {name: (targets & modules.keys()) - {name} for name, targets in edges.items()}


def wrong_edges(edges: dict[str, set[str]], layers: dict[str, tuple[set[str], set[str]]] = LAYERS) -> Iterator[str]:
    layer_of = {module: layer for layer, (modules, _) in layers.items() for module in modules}
    for name in sorted(edges.keys() ^ layer_of.keys()):
        yield f"{name}.py is missing: " + ("in LAYERS of tests/house/check_imports.py" if name in edges else "no file")
    for name, targets in edges.items():
        for other in sorted(targets) if name in layer_of else ():
            here, there = layer_of[name], layer_of.get(other, "")
            if there not in {here, *layers[here][1]}:
                yield f"{name}.py: '{here}' may not import '{there}' ({other})"


def not_first(edges: dict[str, set[str]], boot: str) -> Iterator[str]:
    """A start compiles the modules of FIRST at once and has another process compile the rest, for which it waits."""
    values = {ast.unparse(node.targets[0]): node.value for node in ast.parse(boot).body if isinstance(node, ast.Assign)}
    first = set(ast.literal_eval(values["FIRST"]))
    needed: set[str] = set()
    waiting = ["supervisor", "preload", "limits"]
    while waiting:
        name = waiting.pop()
        needed.add(name)
        waiting += edges[name] - needed
    for name in sorted(needed ^ first):
        said = ("lacks", "imports") if name in needed else ("has", "does not import")
        yield f"boot.py: FIRST {said[0]} {name}, which a start {said[1]} at once"


def main() -> int:
    problems = []
    for folder in PACKAGES:
        circles = cycles(graph(folder))
        problems += [f"{folder.name}: a circle of imports: {', '.join(circle)}" for circle in circles]
    kernel = PACKAGES[0]
    problems += wrong_edges(graph(kernel))
    problems += not_first(graph(kernel, everywhere=False), (kernel / "boot.py").read_text(encoding="utf-8"))
    return finish(problems, "the modules of the Python side import downwards only")


if __name__ == "__main__":
    sys.exit(main())
