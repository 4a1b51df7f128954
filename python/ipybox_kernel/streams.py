"""stdout and stderr of a kernel: Python's objects, and what is written to descriptors 1 and 2 below them."""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.journal import LONGEST, ROOM, Journal
from ipybox_kernel.pipe import available, text_decoder, write_all
from ipybox_kernel.service import Service
from ipybox_kernel.session import LeanSession

MAX_TEXT = 1 << 20  # bytes of text in one message
NEWLINE = ord("\n")
ERRORS = "backslashreplace"
RAW_TEXT = 512  # longer text travels as a buffer
PIPE_SIZE = 1 << 20

fflush = ctypes.CDLL(None).fflush  # found now: later, code may be in the way


class Channel(io.BufferedIOBase):
    """One of the two streams on its way to the host: UTF-8 in, messages out."""

    def __init__(self, name: str, number: int, streams: Streams) -> None:
        self.name = f"<{name}>"
        self.number = number
        self.streams = streams
        self.header = {"name": name}

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.number

    def write(self, data: Any) -> int:
        """Sends valid UTF-8. It must all be gone before anything is raised."""
        with interrupts:
            if self.streams.forked:
                write_all(self.number, data)
            else:
                for piece in pieces(data):
                    self.publish(piece)
        return len(data)

    def publish(self, text: bytes | memoryview) -> None:
        session = self.streams.session
        content, metadata, buffers = {**self.header, "text": ""}, None, None
        if len(text) > RAW_TEXT:
            metadata, buffers = {"raw": [[["text"], 0, "text"]]}, [text]
        else:
            content["text"] = str(text, "utf-8")
        session.send(self.streams.sink, "stream", content, session.request, buffers=buffers, metadata=metadata)
        session.in_line = text[-1] != NEWLINE


class Out(io.TextIOWrapper):
    """``sys.stdout`` or ``sys.stderr``.

    Pending text is in the journal of the streams, and leaves it under their lock. TextIOWrapper would keep it in
    memory that is gone when the process dies; in a forked child of a cell, it does so.
    """

    def __init__(self, name: str, number: int, streams: Streams) -> None:
        self.channel = Channel(name, number, streams)
        super().__init__(self.channel, "utf-8", ERRORS, newline="\n")
        self.streams = streams
        self.capture: Capture | None = None
        self.dirty = False
        self._binary = Binary(self)
        self._write, self._close_room = self._writer()
        self.write = self._write  # type: ignore[method-assign]

    def _writer(self) -> tuple[Callable[[str], int], Callable[[], None]]:
        """``write``, as a closure for speed, and what makes its next call a slow one.

        No call stands between the look at the room and `put`: no other thread runs between them from Python 3.11 on.
        Before, it may behind any jump, and each call holds the lock.
        """
        encode, exactly, put, room = str.encode, str.__str__, self.streams.journal.put, 0

        def write(text: str) -> int:
            nonlocal room
            if type(text) is not str:
                text = exactly(text)
            size = len(text)
            if size > room:
                return write_slowly(text)
            try:
                data = encode(text)
            except UnicodeEncodeError:
                return write_slowly(text)
            if size > room:
                return write_slowly(text)
            room -= size
            put(data)
            return size

        def write_slowly(text: str) -> int:
            nonlocal room, put
            size = len(text)
            with interrupts, self.streams.lock:
                # In parts: fresh memory for a copy of it all is slow. What may fail does so before anything is sent.
                part = ROOM if self.errors == ERRORS else max(1, size)
                data = self.encoded(text[:part])
                if self.dirty:
                    self.flush_text()
                else:
                    self.streams.switch_to(self)
                self.dirty = True
                if size > part or len(data) > LONGEST * ROOM:
                    self.channel.write(data)
                    for start in range(part, size, part):
                        self.channel.write(self.encoded(text[start : start + part]))
                    return size
                self.streams.journal.begin(self.channel.number)
                put = self.streams.journal.put
                room = max(0, ROOM - max(size, -(-len(data) // LONGEST)))
                put(data)
            return size

        def write_alone(text: str) -> int:
            with interrupts, self.streams.lock:
                return write(text)

        def close_room() -> None:
            nonlocal room
            room = 0

        return write if sys.version_info >= (3, 11) else write_alone, close_room

    def encoded(self, text: str) -> bytes:
        """The text in UTF-8, of bytes that are none the replacement character: surrogates may stand for such."""
        try:
            return text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-8", str(self.errors)).decode("utf-8", "replace").encode()

    def flush(self) -> None:
        """Sends what is pending here and in the pipe."""
        with interrupts, self.streams.lock:
            self.flush_text()
            if self.capture:
                self.capture.drain()

    def flush_text(self) -> None:
        """Sends what is pending here; for those who hold the lock."""
        self._close_room()
        dirty, self.dirty = self.dirty, False
        if self.streams.forked:
            super().flush()
        elif dirty and (text := self.streams.journal.pending()):
            self.streams.send_journal(self.channel, text)

    @property
    def buffer(self) -> Any:
        """For bytes; the real buffer wants valid UTF-8."""
        return self._binary

    def isatty(self) -> bool:
        return False

    def detach(self) -> Any:
        """Refused, as by other streams without a buffer of their own: the kernel needs it."""
        raise io.UnsupportedOperation("detach")

    def reconfigure(self, *, encoding: str | None = None, errors: str | None = None, **other: Any) -> None:
        """Keeps UTF-8, which the host wants, whatever the cell would like."""
        super().reconfigure(errors=errors or ("strict" if encoding else None), **other)
        end = other.get("newline", "\n")
        write = self._write if end not in ("\r", "\r\n") else lambda text: self._write(text.replace("\n", end))
        self.write = write  # type: ignore[method-assign]

    def close(self) -> None:
        """Only flushes: a cell that closes its stdout must not silence the next one."""
        self.flush()

    def become_plain(self) -> None:
        """An ordinary line-buffered stream on the descriptor, for a forked child."""
        if self.capture:
            os.close(self.capture.fd)
            self.capture = None
        super().reconfigure(line_buffering=True)
        self.write = super().write  # type: ignore[method-assign]


class Binary(io.BufferedIOBase):
    """``sys.stdout.buffer``: any bytes, in order with the text."""

    def __init__(self, out: Out) -> None:
        self.out = out
        self.decoder = text_decoder()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.out.fileno()

    def write(self, data: Any) -> int:
        with memoryview(data) as view:
            self.out.write(self.decoder.decode(view))
            return view.nbytes

    def flush(self) -> None:
        self.out.flush()


class Capture:
    """The pipe on descriptor 1 or 2, for what is written there past Python."""

    def __init__(self, out: Out, streams: Streams, pipe: tuple[int, int]) -> None:
        self.channel = out.channel
        self.streams = streams
        self.decoder = text_decoder()
        self.fd, end = pipe
        os.set_blocking(self.fd, False)
        try:
            fcntl.fcntl(self.fd, getattr(fcntl, "F_SETPIPE_SZ", 1031), PIPE_SIZE)
        except OSError:
            pass  # over the user's limit; a small pipe works as well
        os.dup2(end, self.channel.number)
        os.close(end)

    def drain(self) -> None:
        """Sends what is in the pipe now, however much is written to it meanwhile."""
        remaining = available(self.fd)
        while remaining > 0 and (size := self.pump()):
            remaining -= size

    def pump(self) -> int:
        """Sends one piece of what is in the pipe, after the text that was printed before; returns its size.

        It comes by way of the journal: wherever another thread ends the process, it is in the pipe, there, or sent.
        """
        with interrupts, self.streams.lock:
            if not available(self.fd):
                return 0  # the other thread was faster
            self.streams.flush_text()
            journal = self.streams.journal
            size = journal.read(self.fd, self.channel.number)
            self.streams.send_journal(self.channel, self.decoder.decode(journal.pending()).encode())
            return size


class Streams:
    """Both streams of a kernel, kept in order among themselves."""

    def __init__(self, session: LeanSession, sink: Any) -> None:
        self.session = session
        self.sink = sink
        self.forked = False
        self.service: Service | None = None
        self.journal = Journal()
        self.out = Out("stdout", 1, self)
        self.err = Out("stderr", 2, self)

    @property
    def lock(self) -> Any:
        """Held from taking output to sending it, so that no thread overtakes another."""
        return self.session.link.lock

    def open(self, pipes: list[tuple[int, int]], journal: Journal) -> None:
        """Takes descriptors 1 and 2 for these pipes and starts to send over the link of the session."""
        self.journal = journal
        for out, pipe in zip((self.out, self.err), pipes, strict=True):
            out.capture = Capture(out, self, pipe)
        pumps = {out.capture.fd: out.capture.pump for out in (self.out, self.err) if out.capture}
        self.service = Service(self.session, self.sink, self.flush_text, pumps)
        interrupts.tell = self.service.tell
        interrupts.remind = self.service.reminders.again
        self.install()
        atexit.register(self.lock.acquire)  # threads end with the interpreter, anywhere: not with the lock in hand
        os.register_at_fork(before=self._before_fork, after_in_parent=self.lock.release, after_in_child=self._in_child)
        os.register_at_fork(after_in_parent=interrupts.unshield)  # the last thing that a fork does

    def install(self) -> None:
        sys.stdout = sys.__stdout__ = self.out  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self.err  # type: ignore[misc]

    def send_journal(self, channel: Channel, text: bytes) -> None:
        """Sends the text that is in the journal; for those who hold the lock."""
        link = self.session.link
        with link.lock:
            link.journal = self.journal.memory
            try:
                channel.write(text)
            finally:
                link.journal = None
        self.journal.clear()

    def switch_to(self, out: Out) -> None:
        """Sends first the text that was written elsewhere before; the text that is written now is sent soon."""
        other = self.err if out is self.out else self.out
        if other.dirty:
            other.flush_text()
        for capture in (self.out.capture, self.err.capture):
            if capture:
                capture.drain()
        if self.service:
            self.service.expect()

    def flush_text(self) -> None:
        for out in (self.out, self.err):
            if out.dirty:
                out.flush_text()

    def flush_before_question(self) -> None:
        """Sends what Python wrote: it is seen before a decision about the action that follows."""
        if self.out.dirty or self.err.dirty:
            with interrupts, self.lock:
                self.flush_text()

    def flush(self) -> None:
        """Sends everything written so far, by Python, by C and by children."""
        fflush(None)
        self.out.flush()
        self.err.flush()
        if self.service:
            with interrupts, self.lock:
                self.service.settle()

    def _before_fork(self) -> None:
        interrupts.__enter__()
        self.lock.acquire()
        self.flush()

    def _in_child(self) -> None:
        """A child of a cell writes to the pipes as any other program would, and has no part in the kernel's sockets."""
        self.forked = True
        self.service = None
        self.session.link.close()
        for out in (self.out, self.err):
            out.become_plain()
        self.lock.release()
        interrupts.uninstall()


def pieces(data: Any) -> Iterator[memoryview]:
    """UTF-8 in parts of at most MAX_TEXT bytes, cut between characters."""
    start, size = 0, len(data)
    view = memoryview(data)
    while start < size:
        end = min(start + MAX_TEXT, size)
        while end < size and data[end] & 0xC0 == 0x80:
            end -= 1
        yield view[start:end]
        start = end
