"""An MCP server that is slow, or never lists, or lists more with each call, or tells what it should keep to itself."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

parser = argparse.ArgumentParser()
parser.add_argument("--start-after", type=float, default=0, metavar="S")
parser.add_argument("--lists-never", action="store_true")
parser.add_argument("--grows", action="store_true", help="each call adds a tool, and says that the list has changed")
parser.add_argument("--touch", metavar="FILE", help="is made at the start, with the pid in it")
parser.add_argument("--fail-with", nargs="*", metavar="VARIABLE", help="says their values and ends")
said = parser.parse_args()

if said.touch:
    with open(said.touch, "a") as file:
        file.write(f"{os.getpid()}\n")
if said.fail_with is not None:
    print("the key", *(os.environ[name] for name in said.fail_with), "was refused", file=sys.stderr)
    print("more in the second line:", *(os.environ[name] for name in said.fail_with), file=sys.stderr)
    sys.exit(3)
time.sleep(said.start_after)


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": f"Does {name}", "inputSchema": {"type": "object"}}


tools = [tool("first")]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    method = request["method"]
    if method == "initialize":
        server = {"name": "scripted", "version": "1"}
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": server,
        }
    if method == "tools/list":
        return {"tools": tools}
    name = request["params"]["name"]
    if said.grows:
        tools.append(tool(f"tool{len(tools)}"))
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}), flush=True)
    return {"content": [{"type": "text", "text": name}]}


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request or (said.lists_never and request["method"] == "tools/list"):
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}), flush=True)
