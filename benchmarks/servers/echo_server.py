"""An MCP server with one tool, `echo`, on the protocol's own library for Python: what an ordinary server costs."""

from mcp.server.fastmcp import FastMCP

server = FastMCP("echo", log_level="WARNING")


@server.tool(structured_output=False)
def echo(text: str) -> str:
    """Return the text as it came."""
    return text


if __name__ == "__main__":
    server.run("stdio")
