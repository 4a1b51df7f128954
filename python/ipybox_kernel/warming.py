"""Preparations that make the first error of a kernel as fast as the next ones, in small pieces while nothing runs."""

from __future__ import annotations

import importlib
import linecache
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.machinery import PathFinder
from typing import Any

QUIET = 0.1  # seconds without a request before the first piece
NEXT = 0.01  # and before each other piece, none of which takes longer than this
RENDERER = (  # what IPython imports for the first traceback, what others need first
    "fractions",
    "pure_eval",
    "asttokens.util",
    "asttokens.asttokens",
    "executing.executing",
    "pygments.formatters.terminal256",
    "pygments.styles",
    "stack_data",
)
CELL, FAILS = "<ipython-input-0>", "1/0\n"
INSTALLED = list(sys.path)  # of the interpreter alone, without the folders where cells work


class WarmUp:
    """The pieces that are left to do."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.pieces: deque[Callable[[], object]] = deque()
        self.wait = QUIET

    def plan(self) -> None:
        """For a kernel that was forked before its supervisor has shown an error."""
        self.pieces.extend(partial(import_installed, name) for name in RENDERER if name not in sys.modules)
        self.pieces.append(self.rehearse)

    def drop(self) -> None:
        """There is nothing left to do."""
        self.pieces.clear()

    def step(self) -> None:
        """Does the next piece. If one cannot be done, the others are left to the first error."""
        self.wait = NEXT
        try:
            self.pieces.popleft()()
        except Exception:
            self.drop()

    def rehearse(self) -> None:
        """Renders a traceback that is not shown, which compiles what the first one needs."""
        renderer = self.shell.InteractiveTB
        latest = getattr(renderer, "tb", None)  # what %debug looks at
        linecache.cache[CELL] = len(FAILS), None, [FAILS], CELL
        try:
            exec(compile(FAILS, CELL, "exec"))
        except ZeroDivisionError as error:
            renderer.structured_traceback(ZeroDivisionError, error, error.__traceback__, tb_offset=0)
        finally:
            del linecache.cache[CELL]
            renderer.tb = latest


def import_installed(name: str) -> None:
    """Imports a module, unless a folder of the user's has one of this name, which is not to be run or hidden."""
    folders = [entry for entry in sys.path if entry not in INSTALLED]
    if PathFinder.find_spec(name.partition(".")[0], folders):
        raise ImportError(name)
    with only_installed():
        importlib.import_module(name)


@contextmanager
def only_installed() -> Iterator[None]:
    """Finds modules of the interpreter only. The list itself stays as it is, for threads that use it meanwhile."""
    users = sys.path
    sys.path = list(INSTALLED)
    try:
        yield
    finally:
        sys.path = users
