"""Errors of cells, shown without the machinery that ran them."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from IPython.core.error import InputRejected, UsageError

from ipybox_kernel.cells import Cells
from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.plain_traceback import plain_traceback

RENDERERS = {"stack_data", "executing", "asttokens", "pure_eval"}
EXPECTED = (SyntaxError, InputRejected, UsageError)  # of cells that do not begin
MAX_CHAIN = 100  # exceptions that are looked at
HIDDEN = {"IPython", "ipykernel", "ipybox_kernel", "decorator", *RENDERERS}
MACHINERY = {*HIDDEN, "traitlets", "jupyter_client", "pygments", *sys.stdlib_module_names}

T = TypeVar("T")


class Mended(Exception):
    """The machinery has failed, for what earlier code had replaced. That is put back: what it did is to be repeated."""


class Tracebacks:
    """Takes the place of ``shell.showtraceback``, and remembers what the reply to the cell has to say."""

    def __init__(
        self, shell: Any, cells: Cells, publish: Callable[[dict[str, Any]], None], mend: Callable[[], bool]
    ) -> None:
        self.shell = shell
        self.cells = cells
        self.publish = publish
        self.mend = mend  # puts back what code has replaced; whether there was anything
        self.display_error: BaseException | None = None
        self.repeats: Callable[[BaseException], bool] = never  # after `Mended`, what fails so while code runs
        self.left: SystemExit | None = None  # what the cell has raised to leave
        self.rendered = False  # whether IPython has formatted one
        shell.showtraceback = self.show

    def begin(self) -> None:
        """A new cell starts."""
        self.display_error = self.left = None

    def show(
        self,
        exc_tuple: Any = None,
        filename: str | None = None,
        tb_offset: int | None = None,
        exception_only: bool = False,
        running_compiled_code: bool = False,
    ) -> None:
        """Publishes the exception that just occurred, as IPython formats it."""
        with interrupts.dropped():
            self.show_undisturbed(exc_tuple, filename, exception_only, running_compiled_code)

    def show_undisturbed(
        self, exc_tuple: Any, filename: str | None, exception_only: bool, running_compiled_code: bool
    ) -> None:
        error = exc_tuple[1] if exc_tuple else (sys.exc_info()[1] or getattr(sys, "last_value", None))
        if error is None:
            print("No traceback available to show.", file=sys.stderr)
            return
        error = as_interrupt(error)
        if self.is_of_machinery(error) and self.mend():
            raise Mended
        if isinstance(error, SystemExit):
            self.left = error
            if self.shell.exit_now:
                return  # of exit(), which is no error
        clean(error)
        remember(error)
        self.cells.keep()
        if isinstance(error, UsageError):
            print(f"UsageError: {error}", file=sys.stderr)
            return
        if getattr(self.shell.displayhook, "msg", None) is not None:
            self.display_error = error  # the value of the cell could not be shown
        if isinstance(error, SyntaxError) and filename:
            error.filename = filename
        self.publish(describe(error, self.format(error, exception_only, running_compiled_code)))

    def is_of_machinery(self, error: BaseException) -> bool:
        """Whether code has no part in an error, and what has failed can be repeated."""
        if not interrupts.armed or isinstance(error, EXPECTED):
            return False
        return not interrupts.begun or (isinstance(error, Exception) and self.repeats(error))

    def repeated(self, step: Callable[[], T]) -> T:
        """Does a step of the machinery; again if it fails for what code has replaced."""
        outer = self.repeats
        self.repeats = is_alone
        try:
            while True:
                try:
                    return step()
                except Mended:
                    continue
                except Exception as failure:
                    if not is_alone(failure) or not self.mend():
                        raise
        finally:
            self.repeats = outer

    def format(self, error: BaseException, exception_only: bool, running_compiled_code: bool) -> list[str]:
        """The lines of a traceback: as IPython has them, or few and at once for code that was interrupted."""
        if interrupts.taken and is_interrupt(error):
            return plain_traceback(error, self.cells)
        lines = self.render(error, exception_only, running_compiled_code)
        return self.as_written(lines) if self.cells.written else lines

    def as_written(self, lines: list[str]) -> list[str]:
        """Puts what cells say in the place of what IPython made of it: ``!ls`` for ``get_ipython().system('ls')``."""
        names = {f"Cell {self.cells.labels[name]}, line ": name for name in self.cells.written}
        shown = []
        for text in lines:
            name = next((name for start, name in names.items() if text.lstrip().startswith(start)), None)
            shown.append(self.cells.as_written(name, text) if name else text)
        return shown

    def render(self, error: BaseException, exception_only: bool, running_compiled_code: bool) -> list[str]:
        kind, frames = type(error), error.__traceback__
        try:
            if isinstance(error, SyntaxError):
                entries = traceback.extract_tb(frames) if running_compiled_code else []
                return list(self.shell.SyntaxTB.structured_traceback(kind, error, entries))
            if exception_only:
                notice = "An exception has occurred, use %tb to see the full traceback.\n"
                return [notice, *self.shell.InteractiveTB.get_exception_only(kind, error)]
            if any(map(is_group, chain(error))):
                return traceback.format_exception(kind, error, frames)
            if hasattr(error, "_render_traceback_"):
                return list(error._render_traceback_())
            self.rendered = True
            with of_no_module(error, self.cells):
                return list(self.shell.InteractiveTB.structured_traceback(kind, error, frames, tb_offset=0))
        except Exception as failure:
            if is_alone(failure) and self.mend():
                return self.render(error, exception_only, running_compiled_code)
            return traceback.format_exception(kind, error, frames)


def never(error: BaseException) -> bool:
    """Of what cannot be repeated."""
    return False


def is_alone(error: BaseException) -> bool:
    """Whether an error comes from the machinery, with no code of others between its frames."""
    modules = (str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(error.__traceback__))
    return all(module.partition(".")[0] in MACHINERY for module in modules)


@contextmanager
def of_no_module(error: BaseException, cells: Cells) -> Iterator[None]:
    """Tells ``inspect`` that cells belong to no module: else it looks through all, three times for each frame."""
    frames = (frame for linked in chain(error) for frame, _ in traceback.walk_tb(linked.__traceback__))
    codes = {frame.f_code.co_filename for frame in frames}
    names = [name for code in codes if code in cells.labels for name in (code, absolute(code))]
    inspect.modulesbyfile.update(dict.fromkeys(names, ""))  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for name in names:
            inspect.modulesbyfile.pop(name, None)  # type: ignore[attr-defined]


def absolute(name: str) -> str:
    """The path that ``inspect`` takes a code's name for."""
    try:
        return os.path.abspath(name)
    except FileNotFoundError:  # the working directory is gone
        return name


def describe(error: BaseException, lines: list[str] | None = None) -> dict[str, Any]:
    """The content of an ``error`` message."""
    try:
        text = str(error)
    except Exception:
        text = f"<unprintable {type(error).__name__}>"
    return {"ename": type(error).__name__, "evalue": text, "traceback": lines or []}


def is_interrupt(error: BaseException) -> bool:
    """Whether an exception is an interrupt, or was raised while one was handled."""
    return any(isinstance(linked, KeyboardInterrupt) for linked in chain(error))


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that it was raised from or while they were handled. Code can make a circle of them."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen and len(seen) < MAX_CHAIN:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def as_interrupt(error: BaseException) -> BaseException:
    """KeyboardInterrupt for the CancelledError that an interrupt became in an ``await`` cell."""
    if interrupts.cancelled and isinstance(error, asyncio.CancelledError):
        return KeyboardInterrupt().with_traceback(error.__traceback__)
    return error


def clean(error: BaseException) -> None:
    """Removes the frames of the machinery from an exception and from everything it is chained to."""
    waiting, seen = [error], set()
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        current.__traceback__ = user_frames(current.__traceback__)
        waiting += [linked for linked in (current.__cause__, current.__context__) if linked]
        waiting += getattr(current, "exceptions", ()) if is_group(current) else ()


def user_frames(frames: TracebackType | None) -> TracebackType | None:
    kept = []
    while frames:
        module = str(frames.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in HIDDEN:
            kept.append(frames)
        frames = frames.tb_next
    chain: TracebackType | None = None
    for entry in reversed(kept):
        chain = TracebackType(chain, entry.tb_frame, entry.tb_lasti, line_of(entry))
    return chain


def line_of(entry: TracebackType) -> int:
    """The line that raised an exception. An interrupt may strike at an instruction without a line: the one before."""
    if entry.tb_lineno is not None:
        return entry.tb_lineno
    code = entry.tb_frame.f_code  # type: ignore[unreachable]  # what typeshed does not know
    lines = [line for start, _, line in code.co_lines() if line is not None and start <= entry.tb_lasti]
    return lines[-1] if lines else code.co_firstlineno


def is_group(error: BaseException) -> bool:
    return any(kind.__name__ == "BaseExceptionGroup" for kind in type(error).__mro__)


def remember(error: BaseException) -> None:
    """Sets the exception that ``%tb``, ``%debug`` and ``pdb.pm`` look at."""
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
