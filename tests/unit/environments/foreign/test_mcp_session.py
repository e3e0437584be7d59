"""Sessions with MCP servers: one loop for all, and what errors of the protocol come to."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from inspect import getsource
from pathlib import Path
from threading import Barrier, Thread
from types import SimpleNamespace
from typing import Any

import pytest
from mcp import MCPError
from mcp.client import streamable_http

from hone.environments.contract import EpisodeFailed, EpisodeLost, WrongParams
from hone.environments.foreign import mcp_session
from hone.environments.foreign.episode import LONGEST
from hone.environments.foreign.mcp_session import McpWorld
from hone.environments.foreign.places import Place
from hone.environments.tools import ToolCall

TOGETHER = 16
ODD = Path(__file__).with_name("odd_tools.py")


class Client:
    """A connected client whose tool `look` raises."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def list_tools(self, cursor: str | None) -> Any:
        tool = SimpleNamespace(name="look", description="", input_schema={})
        return SimpleNamespace(tools=[tool], next_cursor=cursor)

    async def call_tool(self, *_: Any) -> Any:
        raise self._error


def world(monkeypatch: pytest.MonkeyPatch, error: Exception) -> McpWorld:
    monkeypatch.setattr(mcp_session, "_client", lambda *_: Client(error))
    place = Place(protocol="mcp", url="http://127.0.0.1:9/mcp", timeout_s=5)
    made = McpWorld("shelf", lambda: place, [], [])
    made.reset()
    return made


def test_sessions_that_begin_at_once_share_one_loop() -> None:
    mcp_session._started.cache_clear()
    barrier = Barrier(TOGETHER, timeout=20)

    def begun(_: int) -> int:
        barrier.wait()
        return id(mcp_session._loop())

    with ThreadPoolExecutor(TOGETHER) as pool:
        assert len(set(pool.map(begun, range(TOGETHER)))) == 1


@pytest.mark.parametrize(("error", "kind"), [
    (MCPError(-32000, "closed"), EpisodeLost), (MCPError(-32600, "closed"), EpisodeLost),
    (MCPError(-32603, mcp_session._BY_STATUS), EpisodeLost), (MCPError(-32001, "late"), EpisodeFailed),
    (OSError("closed"), EpisodeLost)])
def test_where_the_server_fails_the_policy_reads_nothing(
    monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[Exception],
) -> None:
    one = world(monkeypatch, error)
    with pytest.raises(kind, match="the MCP server shelf"):
        one.step(ToolCall("look", {}).action())
    one.close()


@pytest.mark.parametrize("error", [
    MCPError(-32602, "no such place"), MCPError(-32603, "no such place"), RuntimeError("no such place")])
def test_an_error_of_the_call_is_read_by_the_policy(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    one = world(monkeypatch, error)
    heard = one.step(ToolCall("look", {"at": 1}).action())
    one.close()
    assert heard.valid is False
    assert heard.messages == [{"role": "tool", "content": "error: no such place\n"}]


class Refusing(BaseHTTPRequestHandler):
    """Answers every request with a status and without a body."""

    status = 503

    def do_POST(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(("status", "kind"), [(503, EpisodeLost), (401, WrongParams)])
def test_a_session_that_a_proxy_refuses_may_begin_later(status: int, kind: type[Exception]) -> None:
    handler = type("Answering", (Refusing,), {"status": status})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        place = Place(protocol="mcp", url=f"http://127.0.0.1:{server.server_port}/mcp", timeout_s=5)
        with pytest.raises(kind, match="shelf"):
            McpWorld("shelf", lambda: place, [], []).reset()
        server.shutdown()


@pytest.fixture(scope="module")
def odd() -> Iterator[McpWorld]:
    place = Place(protocol="mcp", command=[sys.executable, str(ODD)], timeout_s=20)
    one = McpWorld("odd", lambda: place, [], [])
    one.reset()
    yield one
    one.close()


@pytest.mark.parametrize(("tool", "valid", "said"), [
    ("pick.one-of", True, "{}"), ("raises", False, "error: Internal server error"),
    ("breaks_its_schema", False, "error: Invalid structured content returned by tool breaks_its_schema"),
    ("picture", True, "[image]\nunder it"), ("structured", True, '{"a": 1}'), ("empty", True, ""),
    ("long", True, "x" * 100)])
def test_odd_tools_of_a_program_that_prints_beside_the_protocol_are_played(
    odd: McpWorld, tool: str, valid: bool, said: str,
) -> None:
    heard = odd.step(ToolCall(tool, {}).action())
    assert (heard.valid, heard.messages[0]["content"].startswith(said)) == (valid, True), heard.messages
    assert len(heard.messages[0]["content"]) <= LONGEST + 1


def test_a_program_that_ends_in_a_call_is_gone_and_one_without_tools_is_no_world(odd: McpWorld) -> None:
    with pytest.raises(EpisodeLost, match="the MCP server odd has gone"):
        odd.step(ToolCall("ends", {}).action())
    with pytest.raises(EpisodeLost, match="the MCP server odd has gone"):
        odd.step(ToolCall("empty", {}).action())
    place = Place(protocol="mcp", command=[sys.executable, str(ODD), "none"], timeout_s=20)
    with pytest.raises(WrongParams, match="an MCP server that offers tools"):
        McpWorld("bare", lambda: place, [], []).reset()


def test_the_package_says_in_these_words_that_http_had_no_error_of_the_protocol() -> None:
    assert f'"{mcp_session._BY_STATUS}"' in getsource(streamable_http)
