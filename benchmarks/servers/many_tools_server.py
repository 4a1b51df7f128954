"""An MCP server with 200 tools, whose schemas have what those of real servers have. A call returns its arguments."""

from __future__ import annotations

import json

from many_tools import many_tools
from stdio_server import serve

if __name__ == "__main__":
    serve("many-tools", many_tools(200), lambda arguments: json.dumps(arguments, sort_keys=True))
