"""A session with an MCP server, by the official package `mcp`: over streamable HTTP, or with a program of the operator.

The package is asynchronous: all sessions of a process share one thread with a loop, and whoever calls waits for it.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from threading import Lock, Thread
from typing import Any, TypeVar

from hone.environments.contract import EpisodeFailed, EpisodeLost, Message, WrongParams
from hone.environments.foreign.episode import LONGEST, Heard
from hone.environments.foreign.places import Place, may_pass
from hone.environments.tools import ToolCall, tool_call

_CONNECT_S, _LEAVE_S = 20.0, 5.0
_MOST_PAGES = 50
_CLOSED, _LATE = -32000, -32001  # codes of mcp_types.jsonrpc: the connection is closed; no answer in time
_NO_SESSION, _INTERNAL = -32600, -32603  # the first: also a session that a new server does not know
_BY_STATUS = "Server returned an error response"  # what the package says where HTTP has no error of the protocol
_STARTING = Lock()
Result = TypeVar("Result")


class McpWorld:
    """One session. It is opened at the reset."""

    def __init__(self, name: str, find: Callable[[], Place], opening: list[Message], wanted: Sequence[str]) -> None:
        self._name, self._find, self._opening, self._wanted = name, find, opening, wanted
        self._session: _Session | None = None
        self._tools = dict[str, dict[str, Any]]()

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        return list(self._tools.values())

    def reset(self) -> Heard:
        place = self._find()
        if not hasattr(import_module("mcp"), "Client"):
            raise WrongParams("environment", "mcp", "a simulation service with the package mcp from 2 on")
        self._session = _Session(self._name, place)
        offered = self._session.opened()
        if not offered:
            raise WrongParams("params.world", self._name, "an MCP server that offers tools")
        lacking = [name for name in self._wanted if name not in offered]
        if lacking:
            raise WrongParams("params.tools", lacking, f"tools of the server: {', '.join(offered)}")
        self._tools = {name: tool for name, tool in offered.items() if not self._wanted or name in self._wanted}
        return Heard(self._opening)

    def step(self, action: str) -> Heard:
        call = tool_call(action)
        if call is None:
            return Heard([], done=True)
        if call.tool not in self._tools:
            return _said(f"error: no tool {call.tool}; there are {', '.join(self._tools)}", valid=False)
        if self._session is None:
            raise EpisodeLost("the session is closed")
        return self._session.called(call)

    def close(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            session.close()


class _Session:
    """A connection that one task of the loop opens and closes, as the package wants it."""

    def __init__(self, name: str, place: Place) -> None:
        self._name, self._place, self._client, self._statuses = name, place, Future[Any](), list[int]()
        self._leaving = _waited(_event(), _LEAVE_S)
        self._task = asyncio.run_coroutine_threadsafe(self._connected(), _loop())

    def opened(self) -> dict[str, dict[str, Any]]:
        """Return the server's tools by name. Raises WrongParams and EpisodeLost."""
        try:
            client = self._client.result(_CONNECT_S)
            return _waited(_listed(client), self._place.timeout_s)
        except TimeoutError as error:
            self.close()
            raise EpisodeLost(f"the MCP server {self._name} did not begin a session in time") from error
        except Exception as error:
            self.close()
            if self._statuses and may_pass(self._statuses[-1]):
                raise EpisodeLost(f"the MCP server {self._name} answered with status {self._statuses[-1]}") from error
            raise _no_session(self._name, self._place, error) from error

    def called(self, call: ToolCall) -> Heard:
        """Return a tool's answer. Raises EpisodeFailed without one in time, and EpisodeLost where the server is gone.
        """
        client = self._client.result(0)
        if self._task.done():
            raise EpisodeLost(f"the MCP server {self._name} has gone")
        late = f"the tool {call.tool} of the MCP server {self._name} gave no answer within {self._place.timeout_s:g} s"
        try:
            result = _waited(client.call_tool(call.tool, call.arguments), self._place.timeout_s)
        except TimeoutError as error:
            raise EpisodeFailed(late) from error
        except import_module("mcp").MCPError as error:
            if error.code == _LATE:
                raise EpisodeFailed(late) from error
            if _has_gone(error):
                raise EpisodeLost(f"the MCP server {self._name} has gone: {error}") from error
            return _said(f"error: {error}", valid=False)
        except Exception as error:
            if isinstance(error, RuntimeError) and not self._task.done():  # the answer is not what its own schema says
                return _said(f"error: {error}", valid=False)
            raise EpisodeLost(f"the MCP server {self._name} has gone: {type(error).__name__}") from error
        text = _text(result)
        return _said(f"error: {text}" if result.is_error else text, valid=not result.is_error)

    def close(self) -> None:
        _loop().call_soon_threadsafe(self._leaving.set)
        with suppress(Exception):
            self._task.result(_LEAVE_S)
        self._task.cancel()

    async def _connected(self) -> None:
        """Hold the connection until it is left."""
        try:
            async with _client(self._place, self._statuses) as client:
                self._client.set_result(client)
                await self._leaving.wait()
        except BaseException as error:
            if self._client.done():
                raise
            self._client.set_exception(error if isinstance(error, Exception) else EpisodeLost("it was left"))


def _client(place: Place, statuses: list[int]) -> Any:
    """Return the package's client of a server, not yet connected. It adds the statuses of HTTP that it meets."""
    package = import_module("mcp")
    if place.command:
        program = package.StdioServerParameters(
            command=place.command[0], args=place.command[1:], env=place.variables)
        transport = package.stdio_client(program)
    else:
        headers = {"Authorization": place.authorization} if place.authorization else {}
        package2 = import_module("httpx2")
        http = package2.AsyncClient(headers=headers, trust_env=False, verify=_trusted(), event_hooks={
            "response": [partial(_note, statuses)]},
                                    timeout=package2.Timeout(place.timeout_s, read=None))  # it may be silent
        transport = import_module("mcp.client.streamable_http").streamable_http_client(place.url, http_client=http)
    return package.Client(transport, read_timeout_seconds=place.timeout_s, cache=None)


def _has_gone(error: Any) -> bool:
    """Return whether an error of the protocol says that there is no such session, and not that a tool failed."""
    return error.code in (_CLOSED, _NO_SESSION) or (error.code == _INTERNAL and str(error) == _BY_STATUS)


async def _listed(client: Any) -> dict[str, dict[str, Any]]:
    """Return a server's tools in OpenAI's format, by name."""
    tools, cursor = dict[str, dict[str, Any]](), None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools.update({one.name: _described(one) for one in page.tools})
        cursor = page.next_cursor
        if not cursor:
            break
    return tools


def _described(tool: Any) -> dict[str, Any]:
    schema = dict(tool.input_schema)
    return {"type": "function", "function": {"name": tool.name, "description": tool.description or "", "parameters": {
        "type": "object", "properties": {}, **schema}}}


def _no_session(name: str, place: Place, error: Exception) -> Exception:
    """Return the error of a session that could not begin: a wrong address, or a server that is away."""
    reasons = list(_leaves(error))
    if any("Connect" in type(one).__name__ or "Timeout" in type(one).__name__ for one in reasons):
        return EpisodeLost(f"the MCP server {name} cannot be reached: {type(reasons[0]).__name__}")
    what = place.command[0] if place.command else "its address"
    return WrongParams("params.world", name, f"an MCP server at {what} ({reasons[0]})")


def _leaves(error: BaseException) -> list[BaseException]:
    """Return the errors in groups of errors."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for one in error.exceptions for leaf in _leaves(one)]
    return [error]


def _text(result: Any) -> str:
    """Return the content of a tool's answer: its texts; of other parts, the kind."""
    parts = [part.text if part.type == "text" else f"[{part.type}]" for part in result.content]
    if parts or result.structured_content is None:
        return "\n".join(parts)
    return json.dumps(result.structured_content, ensure_ascii=False)


def _said(text: str, valid: bool) -> Heard:
    return Heard([{"role": "tool", "content": text[:LONGEST] + "\n"}], valid=valid)


async def _note(statuses: list[int], answer: Any) -> None:
    statuses[:] = [answer.status_code]


async def _event() -> asyncio.Event:
    return asyncio.Event()


def _loop() -> asyncio.AbstractEventLoop:
    with _STARTING:  # a group's sessions begin at once, each in a thread
        return _started()


@cache
def _started() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="mcp", daemon=True).start()
    return loop


@cache
def _trusted() -> Any:
    """Return whom clients trust: reading that takes longer than a call, and each session has a client."""
    return import_module("httpx2").create_ssl_context(trust_env=False)


def _waited(work: Coroutine[Any, Any, Result], longest_s: float) -> Result:
    """Return the result of the loop's work. Raises TimeoutError, and the work's own errors."""
    found = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return found.result(longest_s + 1.0)
    except TimeoutError:
        found.cancel()
        raise
