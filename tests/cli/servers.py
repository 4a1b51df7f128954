"""MCP servers for the program, and code that calls their tools."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from program import PYTHON, Program

TESTS = Path(__file__).parents[1]
NODE = Path(os.environ["IPYBOX_TEST_MCP_NODE"])
SDK_PYTHON = Path(os.environ["IPYBOX_TEST_MCP_PYTHON"])

TOOLS: dict[str, Any] = {"command": PYTHON, "args": [str(TESTS / "support/tool_server.py")]}
SDK: dict[str, Any] = {"command": str(SDK_PYTHON), "args": [str(TESTS / "mcp/servers/sdk.py")]}

#: Says that it has started; reads nothing, and ends by no signal that it could ignore.
DEAF: dict[str, Any] = {"command": "sh", "args": ["-c", "trap : TERM; echo > started; while :; do sleep 1; done"]}

#: The Python library whose generated packages kernels can import, as it is published; `./dev test` puts it there.
ORIGINAL = TESTS.parent / ".venvs/original"

#: What the code calls: echo('a')
ECHO = """
from mcptools.tools import echo as _echo
def echo(text):
    return _echo.run(_echo.Params(text=text))
"""


def filesystem(directory: Path) -> dict[str, Any]:
    script = NODE / "@modelcontextprotocol/server-filesystem/dist/index.js"
    return {"command": "node", "args": [str(script), str(directory)]}


def config(program: Program, **servers: dict[str, Any]) -> str:
    """A configuration file with these servers; by default with `tools`."""
    return program.write("mcp.json", json.dumps({"mcpServers": servers or {"tools": TOOLS}}))
