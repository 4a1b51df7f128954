"""SIGINT: when it may stop a cell, and when it has to wait."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any


class Interrupts:
    """Turns SIGINT into the end of the running cell.

    ``with interrupts.shield`` around a change that must not be left half done: an interrupt that comes meanwhile is
    raised at the end of it. (Blocking the signal would not do: Python runs the handler whichever thread took it.)
    """

    def __init__(self) -> None:
        self.armed = False
        self.early = False  # came when nothing ran; perhaps for a cell that is still on its way
        self.depth = 0
        self.pending = False
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
        self.pending = self.cancelled = False
        self.armed = True

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
        else:
            self.deliver()

    def deliver(self) -> None:
        """Raises in the code that runs; cancels the cell's task when the loop waits for it."""
        self.pending = False
        if self.task is None or self.cancelled or asyncio.current_task(self.loop):
            raise KeyboardInterrupt
        self.cancel()

    def cancel(self) -> None:
        """Cancels the task of an ``await`` cell, once: what swallows that gets KeyboardInterrupt the next time."""
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
                self.deliver()

    def unshield(self) -> None:
        """Leaves a shield where nothing can be raised; an interrupt that came meanwhile waits for the next one."""
        if threading.get_ident() == self.main:
            self.depth -= 1

    def uninstall(self) -> None:
        """In a forked child of a cell: Ctrl-C is as in any Python program."""
        self.disarm()
        self.depth = 0
        signal.signal(signal.SIGINT, signal.default_int_handler)


interrupts = Interrupts()
