"""What MCP servers of the standard library alone have in common: they start fast, and a call takes next to nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any


def serve(name: str, tools: list[dict[str, Any]], call: Callable[[dict[str, Any]], str]) -> None:
    """Serve on standard streams until the client ends; `call` makes the text that a tool returns of its arguments."""

    def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "tools/call":
            return {"content": [{"type": "text", "text": call(params.get("arguments", {}))}]}
        if method == "tools/list":
            return {"tools": tools}
        if method == "initialize":
            server = {"name": name, "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
        return {}

    for line in sys.stdin:
        message = json.loads(line)
        if "method" not in message or "id" not in message:
            continue
        result = result_of(message["method"], message.get("params", {}))
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
        sys.stdout.flush()
