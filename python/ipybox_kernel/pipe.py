"""Reading and writing pipes."""

from __future__ import annotations

import codecs
import fcntl
import os
import struct
import termios
from typing import Any


def available(fd: int) -> int:
    """How many bytes are in a pipe now."""
    return int(struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0])


def text_decoder() -> codecs.IncrementalDecoder:
    """Turns bytes into text, wherever they are cut and whatever they are."""
    return codecs.getincrementaldecoder("utf-8")("replace")


def write_all(fd: int, data: Any) -> None:
    """Writes everything to a blocking descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
