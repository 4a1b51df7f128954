"""SIGINT: when it may stop a cell, and when it has to wait."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_COROUTINE
from types import CodeType, FrameType, TracebackType
from typing import Any

STEP = asyncio.Handle._run.__code__  # of an event loop
WARNINGS = ("warnings", "_py_warnings")  # the modules that show a warning, the latter from Python 3.14 on
NUDGE = signal.SIGURG  # harmless wherever it strikes: a program that does not ask for it never sees it

TOLD = "interrupted"  # the interrupt has reached the code
ENDING = "ending"  # the code has ended; what is left to do is the kernel's own work


class Interrupts:
    """Turns SIGINT into the end of the running cell.

    ``with interrupts`` around a change that must not be left half done: an interrupt that comes meanwhile is
    raised at the end of it. (Blocking the signal would not do: Python runs the handler whichever thread took it.)
    The first one that comes before the code of a cell has begun strikes when that begins, and not the machinery that
    leads there. The host is told how far an interrupt has come: see `tell`.
    """

    def __init__(self) -> None:
        self.armed = False
        self.early = False  # came when nothing ran; perhaps for a cell that is still on its way
        self.depth = 0
        self.pending = False  # strikes at the end of the shield
        self.put_off = False  # strikes with the next nudge
        self.begun = False  # the cell's own code runs
        self.postponed = False  # strikes when the code begins
        self.taken = False  # the code was interrupted
        self.ended = False  # and the host knows that it has ended
        self.cancelled = False
        self.deaf = 0  # interrupts are dropped
        self.tell: Callable[[str], object] = lambda state: None  # says to the host what is true of the code now
        self.wake: Callable[[], object] = lambda: None  # called when an interrupt comes inside a shield
        self.remind: Callable[[], object] = lambda: None  # has the main thread nudged soon
        self.task: asyncio.Task[Any] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.main = threading.get_ident()
        self.starts_code: CodeType | None = None  # IPython's function: what it has made must not be lost
        self.handled = 0  # signals that Python's handler has got
        self.sending = 0  # the main thread sends: handlers that code has installed wait
        self.waiting_handlers: list[tuple[Callable[..., object], int, FrameType | None]] = []
        self.arrived = self.arrival = -1  # both ends of a pipe that the system's signal handler writes to

    def install(self) -> None:
        self.main = threading.get_ident()
        # A signal that came just before the main thread began to wait leaves no other trace.
        self.arrived, self.arrival = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self.arrival, warn_on_full_buffer=False)
        signal.signal(NUDGE, self.nudged)
        signal.signal(signal.SIGINT, self.received)
        sys.unraisablehook = self.show_unraisable
        shield_handlers()

    def has_arrived(self) -> bool:
        """Whether the system has taken an interrupt since this was last asked."""
        numbers = b""
        try:
            while arrived := os.read(self.arrived, 4096):
                numbers += arrived
        except BlockingIOError:
            pass
        return signal.SIGINT in numbers

    def nudge(self) -> None:
        """Ends the waiting of the main thread, if it waits in the system; then Python's handlers run."""
        signal.pthread_kill(self.main, NUDGE)

    def arm(self, cell: bool = False) -> None:
        """From here on SIGINT stops what runs. The code of a cell is still to `begin`."""
        self.pending = self.put_off = self.postponed = self.taken = self.ended = self.cancelled = False
        self.begun = not cell
        self.deaf = 0
        self.armed = True

    def begin(self) -> None:
        """The cell's own code begins. An interrupt that came before strikes now; also one that IPython's callbacks,
        which print what they raise, made nothing of.
        """
        self.begun = True
        if self.postponed:
            self.postponed = False
            raise KeyboardInterrupt

    def end(self) -> None:
        """The cell's own code has ended."""
        if self.taken and not self.ended:
            self.ended = True
            self.tell(ENDING)

    @contextmanager
    def dropped(self) -> Iterator[None]:
        """While an error is shown, which takes as long as it takes: an interrupt would only strike the machinery."""
        if threading.get_ident() != self.main:
            yield
            return
        self.deaf += 1
        try:
            self.end()
            yield
        finally:
            self.deaf -= 1

    def disarm(self) -> None:
        self.armed = False
        self.task = None

    def received(self, number: int, frame: FrameType | None) -> None:
        """Python's signal handler."""
        self.handled += 1
        self.handle(frame)

    def nudged(self, number: int, frame: FrameType | None) -> None:
        """Python's handler of a nudge. An interrupt that came in the middle of a fork strikes now."""
        if self.put_off and self.armed:
            self.put_off = False
            self.handled += 1
            self.handle(frame)

    def handle(self, frame: FrameType | None) -> None:
        """Does what an interrupt is to do now."""
        if not self.armed:
            self.early = True
        elif self.deaf:
            self.tell(ENDING)
        elif drops_what_is_raised(frame) or (frame is not None and frame.f_code is self.starts_code):
            self.put_off = True
            self.remind()
        elif self.depth:
            self.pending = True
            self.wake()
        elif not self.begun and not self.postponed:
            self.postpone()
        elif self.task is None or runs_a_callback(frame):
            self.strike()
        else:
            self.cancel()

    def take(self) -> None:
        """The code is about to get an interrupt."""
        self.pending = False
        self.taken = True
        self.tell(TOLD)

    def postpone(self) -> None:
        """Keeps the first interrupt for the beginning of the code; the next one strikes wherever it is."""
        self.take()
        self.postponed = True

    def strike(self) -> None:
        """Raises in the code that runs."""
        self.take()
        self.postponed = not self.begun
        raise KeyboardInterrupt

    def cancel(self) -> None:
        """Cancels the task of an ``await`` cell. Code that swallows that is cancelled again the next time."""
        if self.task is not None and self.loop is not None:
            self.take()
            self.cancelled = True
            self.loop.call_soon_threadsafe(self.task.cancel)

    def show_unraisable(self, lost: sys.UnraisableHookArgs) -> None:
        """Called by Python for an exception that it cannot raise, such as one in `__del__`: an interrupt that struck
        there strikes again a little later.
        """
        if self.armed and isinstance(lost.exc_value, KeyboardInterrupt) and struck_here(lost.exc_traceback):
            self.put_off = True
            self.remind()
        else:
            sys.__unraisablehook__(lost)

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
                if self.begun or self.postponed:
                    self.strike()
                else:
                    self.postpone()

    def begin_sending(self) -> None:
        """From here on handlers that code has installed wait: they may print, or raise."""
        if threading.get_ident() == self.main:
            self.sending += 1

    def end_sending(self) -> None:
        if threading.get_ident() == self.main:
            self.sending -= 1

    def run_waiting_handlers(self) -> None:
        if threading.get_ident() == self.main:
            while self.waiting_handlers and not self.sending:
                handler, number, frame = self.waiting_handlers.pop(0)
                handler(number, frame)

    def unshield(self) -> None:
        """Leaves the shield of a fork, where Python drops what is raised."""
        if threading.get_ident() == self.main:
            if self.pending and self.depth == 1:
                self.pending = False
                self.put_off = True
                self.remind()
            self.depth -= 1  # `handle` knows this frame

    def uninstall(self) -> None:
        """In a forked child of a cell: Ctrl-C is as in any Python program."""
        self.disarm()
        self.depth = self.deaf = self.sending = 0
        self.waiting_handlers.clear()
        self.tell = lambda state: None
        self.remind = lambda: None
        signal.set_wakeup_fd(-1)
        signal.signal(NUDGE, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = sys.__unraisablehook__


class Shielded:
    """A handler of a signal that code has installed."""

    def __init__(self, handler: Callable[..., object]) -> None:
        self.handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if interrupts.sending:
            interrupts.waiting_handlers.append((self.handler, number, frame))
        else:
            self.handler(number, frame)


def shield_handlers() -> None:
    """Has the handlers that code installs wait while a message is sent."""
    shared: Any = sys.modules["signal"]  # of all code: this package has a copy
    install, installed = shared.signal, shared.getsignal

    def given(handler: Any) -> Any:
        return handler.handler if type(handler) is Shielded else handler

    @functools.wraps(install)
    def signal(signalnum: Any, handler: Any) -> Any:
        return given(install(signalnum, Shielded(handler) if callable(handler) else handler))

    @functools.wraps(installed)
    def getsignal(signalnum: Any) -> Any:
        return given(installed(signalnum))

    shared.signal, shared.getsignal = signal, getsignal


def struck_here(traceback: TracebackType | None) -> bool:
    """Whether an exception was raised by `Interrupts.strike`."""
    while traceback and traceback.tb_next:
        traceback = traceback.tb_next
    return traceback is not None and traceback.tb_frame.f_code is Interrupts.strike.__code__


def drops_what_is_raised(frame: FrameType | None) -> bool:
    """Whether what is raised in a frame may be lost: at the end of a fork, and in the warning of one (Python 3.12)."""
    while frame:
        if frame.f_code is Interrupts.unshield.__code__ or frame.f_globals.get("__name__") in WARNINGS:
            return True
        frame = frame.f_back
    return False


def runs_a_callback(frame: FrameType | None) -> bool:
    """Whether a task or a callback runs, and not the loop itself: that would lose what it is about to do."""
    inner = None
    while frame and frame.f_code is not STEP:
        inner, frame = frame, frame.f_back
    if frame is None or inner is None:
        return False
    return bool(inner.f_code.co_flags & CO_COROUTINE) or not inner.f_globals.get("__name__", "").startswith("asyncio.")


interrupts = Interrupts()
