"""An MCP server of the protocol's own Python library: speaks both eras; `--noisy` and `--ignore-eof` spoil it.

`--http PORT`, `--json PORT` and `--sse PORT` have it listen, at `/mcp` and `/sse`: with streams of events, with answers
in JSON, and as the protocol of 2024-11-05 has it.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import anyio
from mcp.server.mcpserver import Context, Image, MCPServer
from pydantic import BaseModel

server = MCPServer("sdk")
output = os.dup(1)  # the library puts standard error in its place
noisy = "--noisy" in sys.argv


def make_noise() -> None:
    if noisy:
        os.write(output, b'ready!\n\n{"level": "info"}\n[1, 2]\n{"jsonrpc": "2.0", "id": 1}\n')


class Point(BaseModel):
    x: int
    y: int


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    make_noise()
    return a + b


@server.tool()
def mirror(point: Point) -> Point:
    """Mirrors a point at the diagonal."""
    return Point(x=point.y, y=point.x)


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=b"\x89PNG", format="png")


@server.tool()
def broken() -> str:
    """Fails."""
    raise ValueError("this tool is broken")


@server.tool()
async def steps(count: int, ctx: Context[Any]) -> str:
    """Reports progress."""
    for step in range(1, count + 1):
        await ctx.report_progress(step, count, f"step {step}")
    return "done"


@server.tool()
async def slow(seconds: float) -> str:
    """Takes its time."""
    await anyio.sleep(seconds)
    return "slept"


@server.tool()
def long_text(size: int) -> str:
    """A long text."""
    return "x" * size


@server.tool()
def crash() -> str:
    """Ends the server."""
    os._exit(9)


if __name__ == "__main__":
    make_noise()
    way, port = (*sys.argv[1:], "", "0")[:2]
    if way in ("--http", "--json"):
        server.run("streamable-http", port=int(port), json_response=way == "--json")
    elif way == "--sse":
        server.run("sse", port=int(port))
    else:
        server.run("stdio")
    while "--ignore-eof" in sys.argv:
        signal.pause()
