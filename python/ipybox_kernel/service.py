"""The one thread beside the main one: flushes what was printed, and forwards what children and C code write."""

from __future__ import annotations

import os
import select
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipybox_kernel.streams import Streams
    from ipybox_kernel.wire import Link

LEADING = 0.001  # from the first write of a quiet stream to its flush
INTERVAL = 0.010  # between flushes of a busy one
GRACE = 1.0  # from the host's hang-up to the end of a kernel that does not notice it


class Service:
    """Waits for work without ever waking up for nothing."""

    def __init__(self, streams: Streams, link: Link) -> None:
        self.streams = streams
        self.event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.captures = {out.capture.fd: out.capture for out in (streams.out, streams.err) if out.capture}
        self.hangup = link.socket.fileno()
        self.flushed = 0.0
        threading.Thread(target=self._run, name="ipybox-service", daemon=True).start()

    def wake(self) -> None:
        """Something was printed."""
        os.eventfd_write(self.event, 1)

    def _run(self) -> None:
        poller = select.poll()
        for fd in (self.event, *self.captures):
            poller.register(fd, select.POLLIN)
        poller.register(self.hangup, 0)
        deadline: float | None = None
        while True:
            wait = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
            for fd, event in poller.poll(wait):
                if fd == self.event:
                    os.eventfd_read(self.event)
                    deadline = deadline or max(time.monotonic() + LEADING, self.flushed + INTERVAL)
                elif event & select.POLLIN:
                    self.captures[fd].pump()
                elif fd in self.captures:
                    poller.unregister(fd)  # nobody can write there any more
                else:
                    time.sleep(GRACE)  # the main thread sees the end of file too, unless something keeps it
                    os._exit(0)
            if deadline is not None and time.monotonic() >= deadline:
                self._flush()
                deadline = None

    def _flush(self) -> None:
        with self.streams.lock:
            self.streams.flush_text()
        self.flushed = time.monotonic()
