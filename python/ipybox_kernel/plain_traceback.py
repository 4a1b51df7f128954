"""The traceback of an interrupt: small, and quick however deep the code was and however large its files are."""

from __future__ import annotations

import linecache
import os
import traceback
from types import TracebackType

from ipybox_kernel.cells import Cells

RULE = "-" * 75
MAX_FRAMES = 20  # of one exception: half of them from the beginning, half from the end
MAX_CHAIN = 4  # exceptions: the last ones
MAX_WIDTH = 300  # characters of a line
MAX_MESSAGE = 2000
MAX_FILE = 4 << 20  # larger ones are not read for a line
CAUSE = "The above exception was the direct cause of the following exception:"
CONTEXT = "During handling of the above exception, another exception occurred:"


def plain_traceback(error: BaseException, cells: Cells) -> list[str]:
    """The lines of a traceback, much as IPython writes them, with the line of each frame that was being executed."""
    lines: list[str] = [RULE]
    for number, (current, link) in enumerate(chain(error)):
        if number:
            lines += [link, ""]
        name = type(current).__name__
        lines.append(f"{name:<42}Traceback (most recent call last)" if current.__traceback__ else name)
        lines += frames(current.__traceback__, cells)
        lines += [message(current), ""]
    return lines[:-1]


def chain(error: BaseException) -> list[tuple[BaseException, str]]:
    """The last exceptions of a chain, each with what links it to the one before it."""
    linked: list[tuple[BaseException, str]] = []
    current: BaseException | None = error
    while current is not None and len(linked) < MAX_CHAIN and all(current is not seen for seen, _ in linked):
        cause, context = current.__cause__, None if current.__suppress_context__ else current.__context__
        linked.append((current, CAUSE if cause else CONTEXT))
        current = cause or context
    return linked[::-1]


def frames(first: TracebackType | None, cells: Cells) -> list[str]:
    found = []
    while first:
        found.append(first)
        first = first.tb_next
    half = MAX_FRAMES // 2
    if len(found) <= MAX_FRAMES:
        return [frame(entry, cells) for entry in found]
    left_out = f"[... {len(found) - 2 * half} frames are left out]\n"
    return [
        *(frame(entry, cells) for entry in found[:half]),
        left_out,
        *(frame(entry, cells) for entry in found[-half:]),
    ]


def frame(entry: TracebackType, cells: Cells) -> str:
    """The place of a frame, and its line."""
    code, line = entry.tb_frame.f_code, entry.tb_lineno or 0
    label = cells.label(code.co_filename)
    place = f"{label}, line {cells.line(code.co_filename, line)}" if label else f"File {code.co_filename}:{line}"
    if code.co_name != "<module>":
        arguments = ", ".join(code.co_varnames[: code.co_argcount])
        place += f", in {getattr(code, 'co_qualname', code.co_name)}({arguments})"
    source = cells.source_line(code.co_filename, line) if readable(code.co_filename) else ""
    line = cells.line(code.co_filename, line)
    shown = f"\n{'-' * max(1, 5 - len(str(line)))}> {line} {cut(source.rstrip())}" if source.strip() else ""
    return cut(place) + shown + "\n"


def readable(path: str) -> bool:
    """Whether the text is known, or can be read in no time."""
    if path in linecache.cache:
        return True
    try:
        return os.path.isfile(path) and os.path.getsize(path) <= MAX_FILE
    except (OSError, ValueError):
        return False


def message(error: BaseException) -> str:
    try:
        text = "".join(traceback.format_exception_only(type(error), error)).strip()
    except Exception:
        text = type(error).__name__
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + "…"


def cut(text: str) -> str:
    return text if len(text) <= MAX_WIDTH else text[:MAX_WIDTH] + "…"
