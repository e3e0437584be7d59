"""An MCP server with one tool, over HTTP: `python mcp_shelf.py PORT FOLDER`.

A file `die` or `stall` in the folder is what the next call comes to: the server ends, or gives no answer for a minute.
"""

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server, folder = MCPServer("shelf"), Path(sys.argv[2])


def armed(name: str) -> bool:
    """Return whether this call is the one that a file is for."""
    try:
        (folder / name).unlink()
    except FileNotFoundError:
        return False
    return True


@server.tool()
async def look(at: str) -> str:
    """Look at a shelf."""
    if armed("die"):
        os._exit(1)
    if armed("stall"):
        await asyncio.sleep(60)
    return "7" if at == "a" else "nothing"


server.run("streamable-http", port=int(sys.argv[1]))
