"""An MCP server with one tool, `echo`, on the standard library alone: the time of a call is the caller's."""

from __future__ import annotations

import json
import sys
from typing import Any

ECHO = {
    "name": "echo",
    "description": "Return the text as it came.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "tools/call":
        return {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
    if method == "tools/list":
        return {"tools": [ECHO]}
    if method == "initialize":
        server = {"name": "plain-echo", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    return {}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "method" not in message or "id" not in message:
            continue
        result = result_of(message["method"], message.get("params", {}))
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
