"""The one thread beside the main one: flushes what was printed, and forwards what children and C code write."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.session import LeanSession

LEADING = 0.001  # from the first write of a quiet stream to its flush
INTERVAL = 0.010  # between flushes of a busy one
REMINDERS = (0.005, 0.02, 0.1, 0.5, 2.0)  # from an interrupt, and from each other
GRACE = 1.0  # from the host's hang-up to the end of a kernel that does not notice it
CLOCK_MONOTONIC = 1

libc = ctypes.PyDLL(None, use_errno=True)  # keeps the interpreter's lock: these calls take a microsecond
timerfd_create, timerfd_settime = libc.timerfd_create, libc.timerfd_settime  # found now: later, code may be in the way


class Timer:
    """A timerfd. (``os`` has them from Python 3.13 on.)

    Setting it does not wake the thread that waits for it, which is what makes printing cheap.
    """

    def __init__(self) -> None:
        self.fd = timerfd_create(CLOCK_MONOTONIC, os.O_CLOEXEC | os.O_NONBLOCK)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._spec = (ctypes.c_long * 4)()

    def set(self, seconds: float) -> None:
        """Makes the descriptor readable after a while; 0: never."""
        self._spec[3] = int(seconds * 1e9)
        timerfd_settime(self.fd, 0, self._spec, None)

    def reset(self) -> None:
        """Makes the descriptor unreadable."""
        try:
            os.read(self.fd, 8)
        except BlockingIOError:
            pass  # set anew meanwhile


class Bell:
    """Wakes the thread that listens to it."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def ring(self) -> None:
        os.eventfd_write(self.fd, 1)

    def silence(self) -> None:
        try:
            os.eventfd_read(self.fd)
        except BlockingIOError:
            pass

    def __del__(self) -> None:
        os.close(self.fd)


class Reminders:
    """For the main thread, of an interrupt that came right before it began to wait in the system.

    The system's signal handler has run then, Python's has not, and nothing would end the waiting.
    """

    def __init__(self) -> None:
        self.timer = Timer()
        self.handled = 0
        self.left: list[float] = []

    def begin(self) -> None:
        """A signal has come."""
        handled = interrupts.handled
        if interrupts.has_arrived():
            self.expect(handled)

    def again(self) -> None:
        """An interrupt has been put off. This may be the main thread, in the middle of `begin` on the other one."""
        self.expect(interrupts.handled)

    def expect(self, handled: int) -> None:
        self.handled, self.left = handled, list(REMINDERS[1:])
        self.timer.set(REMINDERS[0])

    def remind(self) -> None:
        """The main thread has had its time."""
        self.timer.reset()
        if interrupts.put_off or interrupts.handled == self.handled:
            interrupts.nudge()
            self.timer.set(self.left.pop(0) if self.left else 0)


class Service:
    """Waits for work without ever waking up for nothing: it flushes text, and pumps what can be read of pipes."""

    def __init__(
        self, session: LeanSession, sink: Any, flush_text: Callable[[], None], pumps: Mapping[int, Callable[[], object]]
    ) -> None:
        self.session = session
        self.sink = sink
        self.flush_text = flush_text  # of the streams; for those who hold the lock
        self.pumps = pumps  # descriptor -> forwards what can be read there
        self.timer = Timer()
        self.due = False  # something waits for the timer
        self.bell = Bell()
        self.reminders = Reminders()
        self.news: deque[tuple[str, dict[str, Any]]] = deque()  # states for the host, with their request
        self.hangup = session.link.socket.fileno()
        self.flushed = 0.0
        self.poller = select.epoll()  # poll(2) fails when code has lowered the limit of open files
        for fd in (self.timer.fd, self.bell.fd, interrupts.arrived, self.reminders.timer.fd, *self.pumps):
            self.poller.register(fd, select.EPOLLIN)
        self.poller.register(self.hangup, 0)
        threading.Thread(target=self._run, name="ipybox-service", daemon=True).start()

    def expect(self) -> None:
        """Something was printed: it is sent soon. For those who hold the lock, as is `settle`."""
        if not self.due:
            self.due = True
            self.timer.set(max(LEADING, self.flushed + INTERVAL - time.monotonic()))

    def settle(self) -> None:
        """Everything has been sent."""
        if self.due:
            self.due = False
            self.timer.set(0)

    def tell(self, state: str) -> None:
        """Lets the host know what has become of the code that runs. It may be called by a signal handler."""
        self.news.append((state, self.session.request))
        self.bell.ring()

    def _run(self) -> None:
        # The main thread may not notice for long that another one took a signal.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        while True:
            for fd, event in self.poller.poll():
                if fd == self.timer.fd:
                    self.timer.reset()
                    self._flush()
                elif fd == self.bell.fd:
                    self._tell()
                elif fd == interrupts.arrived:
                    self.reminders.begin()
                elif fd == self.reminders.timer.fd:
                    self.reminders.remind()
                elif event & select.EPOLLIN:
                    self.pumps[fd]()
                elif fd in self.pumps:
                    self.poller.unregister(fd)  # it has no writer any more
                else:
                    time.sleep(GRACE)  # the main thread sees the end of file too, unless something keeps it
                    os._exit(0)

    def _tell(self) -> None:
        self.bell.silence()
        while self.news:
            state, request = self.news.popleft()
            self.session.send(self.sink, "status", {"execution_state": state}, request)

    def _flush(self) -> None:
        with self.session.link.lock:
            self.due = False
            self.flush_text()
            self.flushed = time.monotonic()
