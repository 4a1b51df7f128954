"""The control socket: requests of the host come in, answers and events go out."""

from __future__ import annotations

import json
import os
import socket
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

MAX_DATAGRAM = 128 * 1024
MAX_DESCRIPTORS = 8


class Control:
    """The supervisor's end. EOFError says that the host has closed its own."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end

    def fileno(self) -> int:
        return self.socket.fileno()

    def receive(self) -> tuple[bytes, list[int]] | None:
        """One request and the descriptors that came with it; None: there is none. Raises EOFError."""
        room = socket.CMSG_SPACE(4 * MAX_DESCRIPTORS)
        flags = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
        try:
            data, ancillary, _, _ = self.socket.recvmsg(MAX_DATAGRAM, room, flags)
        except BlockingIOError:
            return None
        except ConnectionError:
            raise EOFError from None
        if not data:
            raise EOFError
        return data, [fd for _, _, packed in ancillary for fd in struct.unpack(f"{len(packed) // 4}i", packed)]

    def reply(self, number: int, answer: dict[str, Any]) -> None:
        """Answers a request. Its descriptors go to the host, and are let go of here."""
        descriptors = answer.pop("descriptors", [])
        try:
            self.send({"id": number, **answer}, descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def send(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Sends an answer or an event; raises EOFError."""
        # Names that are not UTF-8 become readable text: the host takes no lone surrogates.
        data = json.dumps(message, ensure_ascii=False).encode(errors="replace")
        try:
            if descriptors:
                socket.send_fds(self.socket, [data], list(descriptors))
            else:
                self.socket.send(data)
        except OSError:
            raise EOFError from None

    def fail(self, kind: str, text: str) -> NoReturn:
        """Says why there will be no kernels, and ends."""
        try:
            self.send({"event": "failed", "kind": kind, "executable": sys.executable, "text": text})
        finally:
            os._exit(1)

    def close(self) -> None:
        self.socket.close()
