"""An MCP server over HTTP with one tool, `echo`, on the standard library alone: the time of a call is the caller's.

Streamable HTTP with answers in JSON. It prints the address at which it listens, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from plain_echo_server import ECHO


def answer(message: dict[str, Any]) -> dict[str, Any]:
    method = message["method"]
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "e", "version": "1"}}
    if method == "tools/list":
        return {"tools": [ECHO]}
    return {"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}


def respond(method: str, body: bytes) -> bytes:
    if method != "POST":
        return b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"
    message = json.loads(body)
    if "id" not in message:
        return b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
    text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    return head.encode() + text


class Connection(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            first, *fields = self.received[:end].decode().split("\r\n")
            length = next((int(f.split(":")[1]) for f in fields if f.lower().startswith("content-length:")), 0)
            if len(self.received) < end + 4 + length:
                return
            body = self.received[end + 4 : end + 4 + length]
            self.received = self.received[end + 4 + length :]
            self.transport.write(respond(first.split()[0], body))


async def serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}/mcp", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve())
