"""An MCP server for tests of what crosses the wire, byte for byte. Its argument says how it behaves besides."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

JSON = {"type": "object", "properties": {"json": {"type": "string"}}, "required": ["json"]}
TOOLS = [
    {"name": "wire", "description": "Return the text of the request as it came.", "inputSchema": {"type": "object"}},
    {"name": "structured", "description": "Return this JSON.", "inputSchema": JSON, "outputSchema": {"type": "object"}},
    {"name": "never", "description": "Return nothing.", "inputSchema": {"type": "object"}},
    {"name": "cut_off", "description": "Return half of an answer.", "inputSchema": {"type": "object"}},
    {"name": "refuse", "description": "Return an error of several lines.", "inputSchema": {"type": "object"}},
]


def tools(mode: str) -> list[dict[str, Any]]:
    if mode == "notices":
        deep: dict[str, Any] = {"type": "string"}
        for _ in range(450):
            deep = {"type": "object", "properties": {"a": deep}}
        unknown = {"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}}
        more = [("deep", deep), ("wire", JSON), ("dangling", unknown)]
        return TOOLS + [{"name": name, "inputSchema": schema} for name, schema in more]
    return TOOLS


def become_a_daemon(file: str) -> None:
    """A grandchild that no group and no session connects with this process, and that no polite signal ends."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            with open(file, "w") as out:
                out.write(str(os.getpid()))
            time.sleep(300)
        os._exit(0)
    while not os.path.exists(file):
        time.sleep(0.01)


def answer(mode: str, line: str, message: dict[str, Any]) -> str | None:
    number, method, params = message["id"], message["method"], message.get("params", {})
    result: dict[str, Any] = {}
    if method == "initialize":
        info = {"name": "exact", "version": "1"}
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        if mode == "no list":
            return None
        result = {"tools": tools(mode)}
    elif method == "tools/call" and params["name"] == "wire":
        result = {"content": [{"type": "text", "text": line.strip()}]}
    elif method == "tools/call" and params["name"] == "structured":
        text = params["arguments"]["json"]
        return f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[],"structuredContent":{text}}}}}'
    elif method == "tools/call" and params["name"] == "cut_off":
        return f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[{{"type":"text","te'
    elif method == "tools/call" and params["name"] == "refuse":
        error = {"code": -32602, "message": "Invalid arguments: [\n  Required\n]", "data": {"hint": "give a"}}
        return json.dumps({"jsonrpc": "2.0", "id": number, "error": error})
    elif method == "tools/call":
        return None
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result})


def main(mode: str = "", *more: str) -> None:
    if mode == "daemon":
        become_a_daemon(*more)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and (text := answer(mode, line, message)) is not None:
            print(text, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
