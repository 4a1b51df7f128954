"""SIGINT: when it may stop a cell, and when it has to wait."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from inspect import CO_COROUTINE
from types import FrameType, TracebackType
from typing import Any

STEP = asyncio.Handle._run.__code__  # of an event loop


class Interrupts:
    """Turns SIGINT into the end of the running cell.

    ``with interrupts`` around a change that must not be left half done: an interrupt that comes meanwhile is
    raised at the end of it. (Blocking the signal would not do: Python runs the handler whichever thread took it.)
    """

    def __init__(self) -> None:
        self.armed = False
        self.early = False  # came when nothing ran; perhaps for a cell that is still on its way
        self.depth = 0
        self.pending = False
        self.begun = False  # the cell's own code runs
        self.swallowed = False  # perhaps: it was raised before the code began
        self.cancelled = False
        self.wake: Callable[[], object] = lambda: None  # called when an interrupt comes inside a shield
        self.task: asyncio.Task[Any] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.main = threading.get_ident()

    def install(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.main = threading.get_ident()
        signal.signal(signal.SIGINT, self.handle)

    def arm(self) -> None:
        """From here on SIGINT stops what runs."""
        self.pending = self.begun = self.swallowed = self.cancelled = False
        self.armed = True

    def begin(self) -> None:
        """The cell's own code begins. If something on the way there, as IPython's callbacks do, made nothing of an
        interrupt, it strikes now.
        """
        self.begun = True
        if self.swallowed:
            self.swallowed = False
            raise KeyboardInterrupt

    def disarm(self) -> None:
        self.armed = False
        self.task = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The signal handler."""
        if not self.armed:
            self.early = True
        elif self.depth:
            self.pending = True
            self.wake()
        elif self.task is None or runs_a_callback(frame):
            self.strike()
        else:
            self.cancel()

    def strike(self) -> None:
        """Raises in the code that runs."""
        self.pending = False
        self.swallowed = not self.begun
        raise KeyboardInterrupt

    def cancel(self) -> None:
        """Cancels the task of an ``await`` cell. What swallows that is cancelled again the next time."""
        if self.task is not None and self.loop is not None:
            self.cancelled = True
            self.loop.call_soon_threadsafe(self.task.cancel)

    def waiting(self) -> bool:
        """Whether one is waiting for the end of this thread's shield."""
        return self.pending and threading.get_ident() == self.main

    def __enter__(self) -> None:
        if threading.get_ident() == self.main:
            self.depth += 1

    def __exit__(self, *exception: type[BaseException] | BaseException | TracebackType | None) -> None:
        if threading.get_ident() == self.main:
            self.depth -= 1
            if self.pending and not self.depth and self.armed:
                self.strike()

    def unshield(self) -> None:
        """Leaves a shield where nothing can be raised; an interrupt that came meanwhile waits for the next one."""
        if threading.get_ident() == self.main:
            self.depth -= 1

    def uninstall(self) -> None:
        """In a forked child of a cell: Ctrl-C is as in any Python program."""
        self.disarm()
        self.depth = 0
        signal.signal(signal.SIGINT, signal.default_int_handler)


def runs_a_callback(frame: FrameType | None) -> bool:
    """Whether a task or a callback runs, and not the loop itself: that would lose what it is about to do."""
    inner = None
    while frame and frame.f_code is not STEP:
        inner, frame = frame, frame.f_back
    if frame is None or inner is None:
        return False
    return bool(inner.f_code.co_flags & CO_COROUTINE) or not inner.f_globals.get("__name__", "").startswith("asyncio.")


interrupts = Interrupts()
