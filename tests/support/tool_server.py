"""An MCP server on standard streams, of the standard library alone, for tests."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
SECONDS = {"type": "object", "properties": {"seconds": {"type": "number"}}, "required": ["seconds"]}
NOTHING = {"type": "object"}
CHART = {"type": "object", "properties": {"points": {"type": "integer"}}, "required": ["points"]}
TOOLS = [
    {"name": "echo", "description": "Return the text.", "inputSchema": TEXT},
    {"name": "sleep", "description": "Take some time.", "inputSchema": SECONDS},
    {"name": "fail", "description": "Fail.", "inputSchema": NOTHING},
    {"name": "picture", "description": "Return a picture.", "inputSchema": NOTHING},
    {
        "name": "chart",
        "description": "Return numbers and their picture.",
        "inputSchema": NOTHING,
        "outputSchema": CHART,
    },
    {"name": "server", "description": "Tell the server's process, and what was cancelled.", "inputSchema": NOTHING},
]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

lock = threading.Lock()
sleeping: dict[Any, threading.Timer] = {}
cancelled: list[str] = []  # of the calls that were still running


def reply(number: Any, result: dict[str, Any]) -> None:
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}) + "\n")
        sys.stdout.flush()


def call(number: Any, name: str, arguments: dict[str, Any]) -> None:
    if name == "echo":
        reply(number, {"content": [{"type": "text", "text": arguments["text"]}]})
    elif name == "fail":
        reply(number, {"content": [{"type": "text", "text": "it had to"}], "isError": True})
    elif name == "picture":
        reply(number, {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]})
    elif name == "chart":
        image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
        link = {"type": "resource_link", "uri": "file:///points.csv", "name": "points", "mimeType": "text/csv"}
        reply(number, {"content": [image, link], "structuredContent": {"points": 3}})
    elif name == "server":
        reply(number, {"content": [], "structuredContent": {"pid": os.getpid(), "cancelled": cancelled}})
    elif name == "sleep":
        timer = threading.Timer(arguments["seconds"], reply, (number, {"content": [{"type": "text", "text": "slept"}]}))
        timer.daemon = True
        sleeping[number] = timer
        timer.start()


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message.get("method")
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "tools", "version": "1"}
            reply(number, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
        elif method == "tools/list":
            reply(number, {"tools": TOOLS})
        elif method == "tools/call":
            call(number, message["params"]["name"], message["params"].get("arguments") or {})
        elif method == "notifications/cancelled":
            timer = sleeping.pop(message["params"]["requestId"], None)
            if timer and timer.is_alive():
                timer.cancel()
                cancelled.append("sleep")
        elif number is not None:
            reply(number, {})


if __name__ == "__main__":
    main()
