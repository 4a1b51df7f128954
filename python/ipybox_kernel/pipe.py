"""Reading and writing pipes."""

from __future__ import annotations

import codecs
import fcntl
import os
import struct
import termios
from collections.abc import Callable
from typing import Any

READ = 64 << 10
LARGE = 1 << 20
F_SETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", 1031)


def available(fd: int) -> int:
    """How many bytes are in a pipe now."""
    return int(struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0])


def text_decoder() -> codecs.IncrementalDecoder:
    """Turns bytes into text, wherever they are cut and whatever they are."""
    return codecs.getincrementaldecoder("utf-8")("replace")


class Pump:
    """Forwards what arrives in a pipe as text."""

    def __init__(self, fd: int, write: Callable[[str], Any]) -> None:
        self.fd = fd
        self.write = write
        self.decoder = text_decoder()
        self.size = READ

    def forward(self) -> int:
        """Forwards one piece, for which it waits, and returns its size; 0 is the end of file."""
        data = os.read(self.fd, self.size)
        self._put(data)
        if len(data) == READ == self.size:
            self._enlarge()
        return len(data)

    def finish(self) -> None:
        """Forwards what is there now, however much is written meanwhile, and half a character if that is the end."""
        remaining = available(self.fd)
        while remaining > 0 and (size := self.forward()):
            remaining -= size
        self._put(b"")

    def _put(self, data: bytes) -> None:
        text = self.decoder.decode(data, final=not data)
        if text:
            self.write(text)

    def _enlarge(self) -> None:
        """Makes room for a program that writes much."""
        self.size = LARGE
        try:
            fcntl.fcntl(self.fd, F_SETPIPE_SZ, LARGE)
        except OSError:
            pass  # over the user's limit


def write_all(fd: int, data: Any) -> None:
    """Writes everything to a blocking descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
