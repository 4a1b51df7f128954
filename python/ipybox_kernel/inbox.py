"""The receiving side of the action socket: frames, and the descriptors that come with them."""

from __future__ import annotations

import json
import socket
import struct
from collections import deque
from typing import Any, NamedTuple

MAX_FRAME = 256 << 20
READ = 64 << 10  # what is larger is read into memory of its own
FLAGS = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
ROOM = socket.CMSG_SPACE(8 * 4)

# Written in C: code cannot change how it works. Its name is not documented.
scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


class Answer(NamedTuple):
    """One frame of the host."""

    head: dict[str, Any]
    body: memoryview
    descriptors: list[int]


def is_frame(data: bytes) -> bool:
    """Whether this is one frame, neither less nor more: so are most answers."""
    return len(data) >= 8 and 4 + int.from_bytes(data[:4], "little") == len(data)


class Inbox:
    """Takes frames out of a stream of bytes that never waits."""

    def __init__(self, stream: socket.socket) -> None:
        self.socket = stream
        self.received = bytearray()
        self.whole: bytes | None = None  # a frame that was read by itself
        self.large: memoryview | None = None  # a frame that is too large for `received`
        self.filled = 0  # how much of it is there
        self.descriptors: deque[int] = deque()

    def read(self) -> None:
        """Reads what is there, once; raises EOFError at the end."""
        try:
            if self.large is None:
                data, ancillary, _, _ = self.socket.recvmsg(READ, ROOM, FLAGS)
                size = len(data)
                if self.received or self.whole or not is_frame(data):
                    self.received += data
                else:
                    self.whole = data
            else:
                size, ancillary, _, _ = self.socket.recvmsg_into([self.large[self.filled :]], ROOM, FLAGS)
                self.filled += size
        except BlockingIOError:
            return  # another thread was faster
        except OSError:
            raise EOFError from None
        if not size:
            raise EOFError
        for _, _, packed in ancillary:
            self.descriptors.extend(struct.unpack(f"{len(packed) // 4}i", packed))

    def next(self) -> Answer | None:
        """The next frame, if it is there as a whole; raises ValueError if it is none."""
        if self.whole is not None:
            whole, self.whole = self.whole, None
            return self._parse(memoryview(whole))
        if self.large is not None:
            if self.filled < len(self.large):
                return None
            frame, self.large = self.large, None
            return self._parse(frame)
        if len(self.received) < 8:
            return None
        size = 4 + int.from_bytes(self.received[:4], "little")
        if not 8 <= size <= 4 + MAX_FRAME:
            raise ValueError(f"a frame of {size} bytes")
        if size <= len(self.received):
            frame = memoryview(bytes(self.received[:size]))
            del self.received[:size]
            return self._parse(frame)
        if size > READ:
            self.large, self.filled = memoryview(bytearray(size)), len(self.received)
            self.large[: self.filled] = self.received
            self.received.clear()
        return None

    def _parse(self, frame: memoryview) -> Answer:
        body = 8 + int.from_bytes(frame[4:8], "little")
        text = str(frame[8:body], "utf-8")
        try:
            head, end = scan(text, 0)  # a third of the time of `json.loads`
        except StopIteration:
            raise ValueError("a frame without a head") from None
        if not isinstance(head, dict) or end < len(text) or body > len(frame):
            raise ValueError("a frame without a head")
        if len(self.descriptors) < (count := head.get("descriptors", 0)):
            raise ValueError(f"{count} descriptors are missing")
        return Answer(head, frame[body:], [self.descriptors.popleft() for _ in range(count)])
