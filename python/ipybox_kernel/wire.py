"""The stream socket: framing, and long values as buffers beside the JSON."""

from __future__ import annotations

import ctypes
import json
import json.encoder
import re
import select
import socket
import struct
import threading
from binascii import b2a_base64
from collections.abc import Sequence
from typing import Any, TypeAlias

from jupyter_client.jsonutil import json_clean, json_default

from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.journal import locked_libc

SHELL, IOPUB, STDIN, CONTROL = range(4)
MAX_MESSAGE = 256 << 20  # of the host
MAX_SENT = 64 << 20  # what the host takes: docs/kernel-protocol.md section 3
MAX_CONTENT = 8 << 20
MAX_METADATA = 1 << 20
MAX_HEADER = 64 << 10
MAX_VALUES = 100_000
MAX_DISPLAYED_VALUES = 1_000_000
MAX_FRAMES = 255
MAX_DEPTH = 480  # of arrays and objects, in any JSON: the host takes 500
DISPLAYS = ("display_data", "execute_result", "update_display_data")
MARKS = (b"[", b"{", b",", b":")
STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
RAW_VALUE = 4096  # MIME values above this many characters travel as buffers

Frame: TypeAlias = "bytes | memoryview"
Content = dict[str, Any]

AT_ONCE = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL

send_now = locked_libc.send
send_now.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
send_now.restype = ctypes.c_ssize_t

# Written in C: code cannot change how they work. Their names are not documented.
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_encoder = json.encoder.c_make_encoder or json.encoder._make_iterencode  # type: ignore[attr-defined]
_quote = json.encoder.encode_basestring


def from_json(text: Frame) -> Any:
    """The value of JSON in UTF-8 that begins with the value."""
    return _scan(str(text, "utf-8"), 0)[0]


def _encode(value: Any) -> str:
    return "".join(_encoder({}, json_default, _quote, None, ":", ",", False, False, False)(value, 0))


def to_json(value: Any) -> bytes:
    """JSON in UTF-8, valid whatever is in the value: lone surrogates become ``?``, NaN its text."""
    try:
        text = _encode(value)
    except (TypeError, ValueError):
        text = _encode(json_clean(value))
    return text.encode("utf-8", "replace")


def fitting(kind: str, content: Content) -> bytes:
    """The JSON of a content that the host takes. Beyond its bounds it would end the kernel."""
    text = to_json(content)
    shown = kind in DISPLAYS
    most = MAX_DISPLAYED_VALUES if shown else MAX_VALUES
    deep = is_deep(text)
    if fits(text, MAX_CONTENT, most) and not deep:
        return text
    if kind.startswith("comm_"):
        return b"{}"  # the host has no use for it
    if shown and deep:
        types = ", ".join(map(str, content.get("data", ())))
        raise ValueError(
            f"a display ({types}) is nested more than {MAX_DEPTH} levels deep: the host takes no more; display less"
        )
    if shown:
        raise ValueError(
            f"a display has {len(text)} bytes of JSON, in more than {most} values or {MAX_CONTENT >> 20} MiB: "
            "the host takes no more; display less, or as text (text/html, text/plain), which may have 64 MiB"
        )
    for longest, items in (1 << 18, 1 << 12), (1 << 12, 1 << 8), (1 << 8, 1 << 6):
        text = to_json(shortened(content, longest, items))
        if fits(text, MAX_CONTENT, most) and not is_deep(text):
            return text
    return to_json({name: value for name, value in content.items() if name in ("status", "ename")})


def fits(text: bytes, size: int, values: int) -> bool:
    """Whether JSON is within bounds. The host counts brackets, commas and colons outside of strings."""
    if len(text) > size:
        return False
    if len(text) < values or sum(map(text.count, MARKS)) < values:
        return True
    bare = STRING.sub(b"", text)
    return sum(map(bare.count, MARKS)) < values


def is_deep(text: bytes) -> bool:
    """Whether arrays and objects stand inside each other more often than the host takes."""
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return False
    brackets = STRING.sub(b"", text).translate(None, NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if not brackets:
            return False
    return True


def shortened(value: Any, longest: int, items: int) -> Any:
    """A value whose strings and lists have their middle left out where they are too long."""
    if isinstance(value, str) and len(value) > longest:
        half = longest // 2
        return f"{value[:half]}\n[… {len(value) - 2 * half} characters left out …]\n{value[-half:]}"
    if isinstance(value, (list, tuple)):
        half = items // 2
        kept = list(value) if len(value) <= items else [*value[:half], *value[-half:]]
        return [shortened(item, longest, items) for item in kept]
    if isinstance(value, dict):
        return {name: shortened(item, longest, items) for name, item in list(value.items())[:items]}
    return value


def split_raw(content: Content, metadata: Content, buffers: Sequence[Frame]) -> tuple[Content, Content, list[Frame]]:
    """Moves the long MIME values of a display message out of its content into buffers."""
    data = content.get("data")
    if not isinstance(data, dict):
        return content, metadata, list(buffers)
    long = {kind: value for kind, value in data.items() if is_long(value)}
    if not long:
        return content, metadata, list(buffers)
    frames, places = list(buffers), []
    for kind, value in long.items():
        text = isinstance(value, str)
        places.append([["data", kind], len(frames), "text" if text else "base64"])
        frames.append(value.encode("utf-8", "replace") if text else memoryview(value).cast("B"))
    content = {**content, "data": {**data, **dict.fromkeys(long, "")}}
    return content, {**metadata, "raw": places}, frames


def is_long(value: Any) -> bool:
    return isinstance(value, (str, bytes, bytearray, memoryview)) and len(value) > RAW_VALUE


def join_raw(content: Content, metadata: Content, buffers: list[memoryview]) -> list[memoryview]:
    """Puts the values that came as buffers back into the content; returns the other buffers."""
    places = metadata.pop("raw", [])
    for path, index, kind in places:
        target = content
        for key in path[:-1]:
            target = target[key]
        value = buffers[index]
        target[path[-1]] = str(value, "utf-8") if kind == "text" else b2a_base64(value, newline=False).decode()
    used = {index for _, index, _ in places}
    return [buffer for index, buffer in enumerate(buffers) if index not in used]


class OutputLock:
    """Held by a thread that sends, again and again if it likes. Until it lets go, handlers of signals wait."""

    def __init__(self) -> None:
        lock = threading.RLock()
        self.acquire, self.release = lock.acquire, lock.release

    def __enter__(self) -> None:
        self.acquire()
        interrupts.begin_sending()

    def __exit__(self, *_: object) -> None:
        interrupts.end_sending()
        self.release()
        interrupts.run_waiting_handlers()


class Link:
    """Whole messages over one connected socket: sent from any thread, received in the main one."""

    def __init__(self, stream: socket.socket) -> None:
        self.socket = stream
        self.lock = OutputLock()
        self.open = True
        self.sent = 0  # messages
        self.journal: Any = None  # memory whose text is in the message that the holder of the lock sends
        self._received = bytearray()
        self._writing = False
        self._behind: list[tuple[list[Frame], int]] = []  # sent by a finalizer in the midst of another message

    def send(self, channel: int, frames: Sequence[Frame]) -> None:
        """Sends one message, whole, blocking as long as the host does not read."""
        sizes = list(map(len, frames))
        length = 2 + 4 * len(sizes) + sum(sizes)
        if length > MAX_SENT or len(sizes) > MAX_FRAMES:
            raise ValueError(f"message of {length} bytes in {len(sizes)} frames is too large for the host")
        prefix = struct.pack(f"<IBB{len(sizes)}I", length, channel, len(sizes), *sizes)
        with interrupts, self.lock:
            self._write([prefix, *frames], 4 + length)
            self.sent += 1

    def _write(self, parts: list[Frame], size: int) -> None:
        if self._writing:
            self._behind.append((parts, size))
            return
        self._writing = True
        try:
            self._write_whole(parts, size)
            while self._behind:
                self._write_whole(*self._behind.pop(0))
        finally:
            self._writing = False

    def _write_whole(self, parts: list[Frame], size: int) -> None:
        if not self.open:
            return
        try:
            if self.journal and (sent := self._take_from_journal(parts)):
                size -= sent
                parts = _unsent(parts, sent)
            while size > 0 and (sent := self.socket.sendmsg(parts)) < size:
                size -= sent
                parts = _unsent(parts, sent)
        except OSError:
            self.open = False  # the host is gone, and soon so are we

    def _take_from_journal(self, parts: list[Frame]) -> int:
        """Sends as much as there is room for, and returns its size: the text is sent then, and not in the journal.

        Another thread could end the process. None runs between the two statements, so that the text comes once, from
        here or from there, unless the link is full.
        """
        journal, data, descriptor = self.journal, b"".join(parts), self.socket.fileno()
        size = len(data)
        journal[0] = 0
        sent = send_now(descriptor, data, size, AT_ONCE)
        return max(0, int(sent))

    def receive(self) -> tuple[int, list[memoryview]] | None:
        """The next message if it is there as a whole; raises EOFError at the end of file."""
        with interrupts:
            return self._next() or (self._read() and self._next()) or None

    def wait(self) -> None:
        """Blocks until there is something to read; can be interrupted."""
        poller = select.poll()
        poller.register(self.socket, select.POLLIN)
        poller.poll()

    def _read(self) -> bool:
        try:
            data = self.socket.recv(max(65536, self._missing()), socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            raise EOFError
        self._received += data
        return True

    def _missing(self) -> int:
        if len(self._received) < 4:
            return 0
        return min(int.from_bytes(self._received[:4], "little") - len(self._received), 4 << 20)

    def _next(self) -> tuple[int, list[memoryview]] | None:
        received = self._received
        if len(received) < 6:
            return None
        length, channel, count = struct.unpack_from("<IBB", received)
        if length > MAX_MESSAGE:
            raise EOFError(f"the host announced a message of {length} bytes")
        if len(received) < 4 + length:
            return None
        message = memoryview(bytes(received[: 4 + length]))
        del received[: 4 + length]
        frames, start = [], 6 + 4 * count
        for size in struct.unpack_from(f"<{count}I", message, 6):
            frames.append(message[start : start + size])
            start += size
        return channel, frames

    def close(self) -> None:
        """Lets go of the socket; nothing is sent from now on."""
        self.open = False
        self.socket.close()


def _unsent(parts: list[Frame], sent: int) -> list[Frame]:
    rest: list[Frame] = []
    for part in parts:
        if sent < len(part):
            rest.append(memoryview(part)[sent:])
        sent = max(0, sent - len(part))
    return rest
