"""The parts of Python that the machinery of a kernel needs, as they were before any code ran.

The package itself has copies of its own (see `boot`). IPython and asyncio share theirs with the code of cells: where
they fail, what code has put in the place of functions and classes is taken back.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

NEEDED = [
    "abc",
    "ast",
    "asyncio",
    "asyncio.base_events",
    "asyncio.coroutines",
    "asyncio.events",
    "asyncio.futures",
    "asyncio.runners",
    "asyncio.selector_events",
    "asyncio.tasks",
    "asyncio.unix_events",
    "builtins",
    "codeop",
    "codecs",
    "collections",
    "contextlib",
    "contextvars",
    "copy",
    "datetime",
    "dis",
    "enum",
    "functools",
    "gc",
    "inspect",
    "io",
    "itertools",
    "json",
    "json.decoder",
    "json.encoder",
    "keyword",
    "linecache",
    "logging",
    "opcode",
    "operator",
    "os",
    "posixpath",
    "re",
    "select",
    "selectors",
    "signal",
    "socket",
    "stat",
    "string",
    "struct",
    "sys",
    "textwrap",
    "threading",
    "time",
    "token",
    "tokenize",
    "traceback",
    "types",
    "typing",
    "uuid",
    "warnings",
    "weakref",
]
MACHINERY = ("IPython", "ipykernel", "ipybox_kernel", "traitlets", "jupyter_client", "asyncio")

#: What code, IPython and the kernel replace on purpose, and what the machinery can do without.
THEIRS = {
    "builtins": {"input", "print", "exit", "quit", "help", "copyright", "credits", "license", "breakpoint"},
    "sys": {"displayhook", "excepthook", "breakpointhook", "unraisablehook", "exit", "stdin", "stdout", "stderr"},
    "warnings": {"formatwarning", "showwarning"},
    "signal": {"default_int_handler"},
}
MISSING = object()


class Originals:
    """Functions, classes and modules by the names that they had."""

    def __init__(self) -> None:
        self.modules = dict(sys.modules)
        self.finders = list(sys.meta_path)
        self.kept = {name: dict(vars(sys.modules[name])) for name in NEEDED if name in sys.modules}

    def mend(self) -> list[str]:
        """Puts back what is missing or another; returns the names."""
        put_back = []
        for name, module in self.modules.items():
            if name not in sys.modules and (name in self.kept or name.partition(".")[0] in MACHINERY):
                sys.modules[name] = module
                put_back.append(f"sys.modules[{name!r}]")
        for finder in self.finders:
            if finder not in sys.meta_path:
                sys.meta_path.append(finder)
                put_back.append("sys.meta_path")
        nested = hasattr(self.modules["asyncio"], "_nest_patched")  # half of that would be worse
        for name, kept in self.kept.items():
            if not (nested and name.startswith("asyncio")):
                put_back += self.mend_module(name, self.modules[name], kept)
        return put_back

    def mend_module(self, name: str, module: ModuleType, kept: dict[str, Any]) -> list[str]:
        now, theirs = vars(module), THEIRS.get(name, ())
        changed = [
            attribute
            for attribute, value in kept.items()
            if now.get(attribute, MISSING) is not value
            and (callable(value) or isinstance(value, ModuleType))
            and not (attribute in theirs and callable(now.get(attribute)))
        ]
        for attribute in changed:
            now[attribute] = kept[attribute]
        return [f"{name}.{attribute}" for attribute in changed]
