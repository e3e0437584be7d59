"""A program with odd tools, by the package `mcp`. It prints beside the protocol. With an argument it has no tools."""

import asyncio
import os
import sys
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

_ONE = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
_PICK = {"type": "object", "properties": {
    "one": {"enum": ["a", None, 3]}, "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "list": {"$ref": "#/$defs/List"}}, "$defs": {"List": {"type": "array", "items": {"type": "string"}}}}
_TOOLS = [
    types.Tool(name="pick.one-of", input_schema=_PICK),
    *(types.Tool(name=name, input_schema={"type": "object"})
      for name in ("raises", "picture", "empty", "long", "ends")),
    *(types.Tool(name=name, input_schema={"type": "object"}, output_schema=_ONE)
      for name in ("structured", "breaks_its_schema"))]


async def _listed(_: Any, __: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[] if sys.argv[1:] else _TOOLS)


async def _called(_: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
    os.write(1, b"a line for whoever debugs\n")
    if asked.name == "raises":
        raise ValueError("own defect")
    if asked.name == "ends":
        os._exit(4)
    if asked.name == "structured":
        return types.CallToolResult(content=[], structured_content={"a": 1})
    if asked.name == "breaks_its_schema":
        return types.CallToolResult(content=[], structured_content={"a": "x"})
    picture = types.ImageContent(type="image", data="AAAA", mime_type="image/png")
    said = {"picture": [picture, _text("under it")], "empty": [], "long": [_text("x" * 1_000_000)]}
    return types.CallToolResult(content=said.get(asked.name, [_text(str(asked.arguments or {}))]))


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


async def _main() -> None:
    server = Server("odd", on_list_tools=_listed, on_call_tool=_called)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(_main())
