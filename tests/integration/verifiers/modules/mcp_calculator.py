"""An MCP server with a calculator: `python mcp_calculator.py` over its pipes, `… PORT` over HTTP."""

import os
import sys
import time

try:
    from mcp.server.mcpserver import MCPServer
except ImportError:  # below 2
    from mcp.server.fastmcp import FastMCP as MCPServer

port = int(sys.argv[1]) if sys.argv[1:] else 0
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


if hasattr(server.settings, "port"):  # below 2
    server.settings.port = port
    server.run("streamable-http")
elif port:
    server.run("streamable-http", port=port)
else:
    server.run("stdio")
