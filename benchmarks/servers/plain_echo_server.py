"""An MCP server with one tool, `echo`, on the standard library alone: the time of a call is the caller's."""

from __future__ import annotations

from stdio_server import serve

ECHO = {
    "name": "echo",
    "description": "Return the text as it came.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}

if __name__ == "__main__":
    serve("plain-echo", [ECHO], lambda arguments: arguments["text"])
