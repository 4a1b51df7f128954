"""Cells by name: what tracebacks and warnings call them, and their text as it was written."""

from __future__ import annotations

import linecache
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from IPython.core.compilerop import CachingCompiler

MAX_TITLE = 60
MAX_BODY = 4  # lines of a %%cell that are shown below its first one
DEFINES = re.compile(r"\b(def|lambda|class|for)\b")  # code that may run when its cell has ended
NUMBERED = re.compile(r"( *|-+> )(\d+)( |$)")  # a line of source in a traceback

Transform = Callable[[list[str]], list[str]]


class Cells(CachingCompiler):
    """Takes the place of ``shell.compile``: the cells of a session are numbered as they come, and may have titles.

    The name of a cell's code begins as IPython's do, which debuggers and caches look for, and has its number.
    """

    def __init__(self, cleanup: Sequence[Transform], mend: Callable[[], bool]) -> None:
        super().__init__()
        self.mend = mend  # puts back what code has replaced; whether there was anything
        self.cleanup = cleanup  # what IPython does to a cell before it looks for magics
        self.number = 0
        self.title = ""
        self.labels: dict[str, str] = {}  # of code names, for people
        self.written: dict[str, list[list[str]]] = {}  # for each line of code the lines that it was made from
        self.passing: list[str] = []  # names that nothing refers to when the next cell begins

    def begin(self, title: object, number: object = None) -> None:
        """The next cell. The host gives it a number where an earlier kernel has counted those before."""
        self.number = number if isinstance(number, int) else self.number + 1
        self.title = printable(title) if isinstance(title, str) else ""
        for name in self.passing:
            linecache.cache.pop(name, None)
            for known in (self._filename_map, self.labels, self.written):
                known.pop(name, None)
        self.passing.clear()

    def keep(self) -> None:
        """Something refers to the latest cell: an error that may be looked at again."""
        self.passing.clear()

    def forget(self) -> None:
        """Begins to count anew."""
        self.number = 0
        for known in (self._filename_map, self.labels, self.written, self.passing):
            known.clear()

    def get_code_name(self, raw_code: str, transformed_code: str, number: int) -> str:
        """A name that no other code has: a cell may run parts of itself as cells, as ``%%capture`` does."""
        slug = "-".join(re.findall(r"\w+", self.title))
        stem = f"ipython-input-{self.number}" + (f"-{slug}" if slug else "")
        name, part = f"<{stem}>", 1
        while name in self.labels:
            part += 1
            name = f"<{stem}.{part}>"
        self.labels[name] = f"In[{self.number}]" + (f" ({self.title})" if self.title else "")
        return name

    def format_code_name(self, name: str) -> tuple[str, str] | None:
        """The label that takes the place of the file in a traceback."""
        return ("Cell", self.labels[name]) if name in self.labels else None

    def label(self, name: str) -> str | None:
        """The name that people use for this code, if it is a cell's."""
        return f"Cell {self.labels[name]}" if name in self.labels else None

    def cache(self, transformed_code: str, number: int = 0, raw_code: str | None = None) -> str:
        """Makes a name for a cell and keeps its source for tracebacks."""
        name: str = super().cache(transformed_code.replace("\0", "\\0"), number, raw_code)
        if raw_code is not None and raw_code.rstrip("\n") != transformed_code.rstrip("\n"):
            lines = raw_code.splitlines(keepends=True)
            for transform in self.cleanup:
                lines = transform(lines)
            self.written[name] = align([line.rstrip("\r\n") for line in lines], transformed_code.splitlines())
        if not DEFINES.search(transformed_code):
            self.passing.append(name)
        return name

    def ast_parse(self, source: str, filename: str = "<unknown>", symbol: str = "exec") -> Any:
        """The tree of a cell. Python does not say where a null byte is."""
        if "\0" in source:
            lines = source[: source.index("\0")].split("\n")
            line = source.split("\n")[len(lines) - 1].replace("\0", "\\0")
            message = "source code cannot contain null bytes"
            raise SyntaxError(message, (filename, len(lines), len(lines[-1]) + 1, line))
        try:
            return super().ast_parse(source, filename, symbol)
        except (TypeError, ValueError):  # which IPython shows as if they were the cell's
            if self.mend():
                return self.ast_parse(source, filename, symbol)
            raise

    def as_written(self, name: str, frame: str) -> str:
        """The text of a frame of this code, with its lines as they were written."""
        head, *lines = frame.split("\n")
        shown = [re.sub(r"(?<=, line )\d+", lambda number: str(self.line(name, int(number[0]))), head, count=1)]
        for line in lines:
            numbered = NUMBERED.match(line)
            code = int(numbered[2]) if numbered else 0
            if not numbered or not 0 < code <= len(self.written[name]):
                shown.append(line)
                continue
            at = self.line(name, code)
            first, *rest = self.written[name][code - 1]
            shown.append(f"{numbered[1]}{at} {first}")
            shown += [f"{at + below:>7} {text}" for below, text in enumerate(rest[:MAX_BODY], 1)]
        return "\n".join(shown)

    def line(self, name: str, code: int) -> int:
        """The number of the written line that a line of code was made from."""
        written = self.written.get(name, [])
        return 1 + sum(map(len, written[: code - 1])) if 0 < code <= len(written) else code

    def source_line(self, name: str, line: int) -> str:
        """A line of code, as it was written."""
        written = self.written.get(name, [])
        return written[line - 1][0] if 0 < line <= len(written) else str(linecache.getline(name, line))


def printable(title: str) -> str:
    """A title on one line."""
    text = " ".join("".join(c if c.isprintable() else " " for c in title[: 4 * MAX_TITLE]).split())
    return text if len(text) <= MAX_TITLE else text[: MAX_TITLE - 1] + "…"


def align(written: list[str], code: list[str]) -> list[list[str]]:
    """For each line of code the lines that it was made from: one, but for magics that go on over several."""
    aligned: list[list[str]] = []
    at = 0
    for number, line in enumerate(code):
        spare = (len(written) - at) - (len(code) - number)  # lines that belong together with others
        size = 1
        if at < len(written) and written[at] != line and spare > 0:
            size = 1 + spare if number + 1 == len(code) else continued(written, at, spare)
        aligned.append(written[at : at + size] or [line])
        at += size
    return aligned


def continued(written: list[str], at: int, spare: int) -> int:
    """How many lines the one at this place goes on over."""
    size = 1
    while size <= spare and written[at + size - 1].rstrip().endswith("\\"):
        size += 1
    return size


def name_cells_in_warnings(cells: Cells) -> None:
    """A warning of a cell names it as its tracebacks do."""
    plain = warnings.formatwarning

    def formatwarning(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        label = cells.label(filename)
        if label is not None:
            line = cells.source_line(filename, lineno) if line is None else line
        return plain(message, category, label or filename, cells.line(filename, lineno), line)

    warnings.formatwarning = formatwarning
