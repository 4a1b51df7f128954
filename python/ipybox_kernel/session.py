"""The Jupyter session of a kernel: ipykernel's messages, sent over a Link."""

from __future__ import annotations

import itertools
import uuid
from typing import Any

from jupyter_client.session import Session

from ipybox_kernel import wire

PROTOCOL_VERSION = "5.4"
DISPLAYS = frozenset(("display_data", "execute_result"))


class Sink:
    """Stands where ipykernel expects the socket of a channel."""

    def __init__(self, channel: int) -> None:
        self.channel = channel


class LeanSession(Session):
    """Builds the messages of the kernel and gives them to whatever link it is connected to."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.link: Any = None
        self.numbers = itertools.count()
        self.request: dict[str, Any] = {}  # header of the request that is being handled
        self.request_json = b"{}"
        self.last_error: dict[str, Any] | None = None
        self.in_line = False  # whether what the request has put out so far ends within a line

    def connect(self, link: Any) -> None:
        """Starts a session of its own over a link."""
        self.link = link
        self.session = uuid.uuid4().hex
        self.numbers = itertools.count()

    def parse(self, frames: list[memoryview]) -> dict[str, Any]:
        """A message of the host as ipykernel's handlers want it."""
        header, parent, metadata, content = map(wire.from_json, frames[:4])
        return {
            "header": header,
            "msg_id": header["msg_id"],
            "msg_type": header["msg_type"],
            "parent_header": parent,
            "metadata": metadata,
            "content": content,
            "buffers": wire.join_raw(content, metadata, frames[4:]),
        }

    def begin(self, request: dict[str, Any], frames: list[memoryview]) -> None:
        """Begins a request, to which the output from now on belongs."""
        self.request, self.request_json = request["header"], bytes(frames[0])
        self.last_error = None
        self.in_line = False

    def msg(
        self,
        msg_type: str,
        content: dict[str, Any] | None = None,
        parent: dict[str, Any] | None = None,
        header: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """A message that can still be changed before it is sent."""
        if header is None:
            header = {
                "msg_id": f"{self.session}_{next(self.numbers)}",
                "msg_type": msg_type,
                "session": self.session,
                "username": "kernel",
                "version": PROTOCOL_VERSION,
            }
        return {
            "header": header,
            "msg_id": header["msg_id"],
            "msg_type": msg_type,
            "parent_header": parent.get("header", parent) if parent else {},
            "content": content or {},
            "metadata": metadata or {},
        }

    def send(
        self,
        stream: Any,
        msg_or_type: Any,
        content: dict[str, Any] | None = None,
        parent: dict[str, Any] | None = None,
        ident: Any = None,
        buffers: Any = None,
        track: bool = False,
        header: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> dict[str, Any] | None:
        """Sends a message through a Sink. Any other socket is the code's own and is sent to in the ordinary way."""
        if not isinstance(stream, Sink):
            return super().send(  # type: ignore[no-any-return]
                stream, msg_or_type, content, parent, ident, buffers, track, header, metadata
            )
        if isinstance(msg_or_type, str):
            message = self.msg(msg_or_type, content, parent, header, metadata)
        else:
            message = msg_or_type
            buffers = buffers or message.get("buffers")
        if message["msg_type"] == "error":
            self.last_error = message["content"]
        elif message["msg_type"] in DISPLAYS:
            self.in_line = False  # the host gives a display lines of its own
        parent_header = message["parent_header"]
        body, notes, frames = wire.split_raw(
            message["content"], message["metadata"], [memoryview(buffer).cast("B") for buffer in buffers or ()]
        )
        self.link.send(
            stream.channel,
            [
                wire.to_json(message["header"]),
                self.request_json if parent_header is self.request else wire.to_json(parent_header),
                wire.to_json(notes) if notes else b"{}",
                wire.fitting(message["msg_type"], body),
                *frames,
            ],
        )
        return message
