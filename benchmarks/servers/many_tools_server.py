"""An MCP server with 200 tools, or as many as its argument says. Their schemas have what those of real servers have.

A call returns its arguments.
"""

from __future__ import annotations

import json
import sys

from many_tools import many_tools
from stdio_server import serve

if __name__ == "__main__":
    serve(
        "many-tools",
        many_tools(int(sys.argv[1]) if len(sys.argv) > 1 else 200),
        lambda arguments: json.dumps(arguments, sort_keys=True),
    )
