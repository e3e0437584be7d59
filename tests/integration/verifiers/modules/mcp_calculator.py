"""An MCP server with a calculator: `python mcp_calculator.py` over its pipes, `… PORT` over HTTP."""

import os
import sys
import time

from mcp.server.mcpserver import MCPServer

server = MCPServer("calculator")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def divide(a: int, b: int) -> float:
    """Divide a number by another."""
    return a / b


@server.tool()
def variables() -> str:
    """Name the variables of Hone that the server sees."""
    return " ".join(name for name in os.environ if name.startswith("HONE")) or "none"


@server.tool()
def wait() -> str:
    """Take too long."""
    time.sleep(5)
    return "late"


@server.tool()
def die() -> str:
    """End the server."""
    os._exit(1)


if sys.argv[1:]:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run("stdio")
