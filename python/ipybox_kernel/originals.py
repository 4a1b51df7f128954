"""The modules that the machinery of a kernel needs, as they were before any code ran.

The package itself has copies of its own (see `boot`). IPython and asyncio share theirs with the code of cells: where
they fail, what code has removed from these modules, or put in the place of what was there, is taken back. As long as
nothing fails, all that code replaces stays as it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

#: What code, IPython and the kernel replace on purpose, and what the machinery can do without.
THEIRS = {
    "builtins": {"input", "print", "help", "copyright", "credits", "license", "breakpoint"},
    "getpass": {"getpass"},
    "sys": {"displayhook", "excepthook", "breakpointhook", "unraisablehook", "exit", "stdin", "stdout", "stderr"},
    "warnings": {"formatwarning", "showwarning"},
    "signal": {"default_int_handler"},
}
#: What IPython puts in and out, and what the kernel fills in when it begins.
LATER = {"builtins": {"exit", "quit"}, "sys": {"argv", "path"}}
OF_CODE = {"__main__", "__mp_main__"}
CONSTANTS = (str, bytes, int, float, tuple, frozenset, re.Pattern)
MISSING = object()


class Originals:
    """All that the modules of the machinery had in them, by name; ``names`` are those modules."""

    def __init__(self, names: Iterable[str]) -> None:
        modules = {name: sys.modules.get(name) for name in ("sys", "builtins", *names) if name not in OF_CODE}
        self.modules = {name: module for name, module in modules.items() if type(module) is ModuleType}
        self.by_name = sys.modules
        self.finders = list(sys.meta_path)
        self.kept = {name: dict(vars(module)) for name, module in self.modules.items()}

    def replaced(self, names: Iterable[tuple[str, str]]) -> None:
        """Takes over what the kernel itself has put into modules."""
        for name, attribute in names:
            if name in self.kept and attribute in vars(self.modules[name]):
                self.kept[name][attribute] = vars(self.modules[name])[attribute]

    def mend(self) -> list[str]:
        """Puts back what is missing or no more what it was; returns the names.

        Values that can stand where they are go only if there is nothing else that keeps the machinery from working.
        """
        return self.put_back(is_broken) or self.put_back(is_another)

    def put_back(self, differs: Callable[[Any, Any], bool]) -> list[str]:
        """Puts back what differs, and modules and finders that are missing."""
        done = self.put_back_values("sys", differs)
        if sys.modules is not self.by_name:
            sys.modules = self.by_name
            done.append("sys.modules")
        for name, module in self.modules.items():
            if sys.modules.get(name) is not module:
                sys.modules[name] = module
                done.append(f"sys.modules[{name!r}]")
        for finder in self.finders:
            if finder not in sys.meta_path:
                sys.meta_path.append(finder)
                done.append("sys.meta_path")
        nested = "_nest_patched" in vars(self.modules["asyncio"])  # half of that would be worse
        for name in self.kept:
            if name != "sys" and not (nested and name.partition(".")[0] == "asyncio"):
                done += self.put_back_values(name, differs)
        return done

    def put_back_values(self, name: str, differs: Callable[[Any, Any], bool]) -> list[str]:
        now, theirs, later = vars(self.modules[name]), THEIRS.get(name, ()), LATER.get(name, ())
        done = []
        for attribute, value in self.kept[name].items():
            current = now.get(attribute, MISSING)
            if current is value or attribute in later or not differs(value, current):
                continue
            if (
                attribute in theirs
                and current is not None
                and current is not MISSING
                and callable(current) >= callable(value)
            ):
                continue
            now[attribute] = value
            done.append(f"{name}.{attribute}")
        return done


def is_broken(value: Any, current: Any) -> bool:
    """Whether what is there now cannot stand for what was there."""
    if current is MISSING or callable(value) or isinstance(value, ModuleType):
        return True
    return value is not None and type(current) is not type(value)


def is_another(value: Any, current: Any) -> bool:
    """Whether a constant has got another value."""
    return is_broken(value, current) or (isinstance(value, CONSTANTS) and bool(current != value))
