"""Sessions with MCP servers: one loop for all, and what errors of the protocol come to."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest
from mcp import MCPError

from hone.environments.contract import EpisodeFailed, EpisodeLost
from hone.environments.foreign import mcp_session
from hone.environments.foreign.mcp_session import McpWorld
from hone.environments.foreign.places import Place
from hone.environments.tools import ToolCall

TOGETHER = 16


class Client:
    """A connected client whose tool `look` answers with an error of the protocol."""

    def __init__(self, code: int) -> None:
        self._code = code

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def list_tools(self, cursor: str | None) -> Any:
        tool = SimpleNamespace(name="look", description="", input_schema={})
        return SimpleNamespace(tools=[tool], next_cursor=cursor)

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        raise MCPError(self._code, f"{name} {arguments}")


def world(monkeypatch: pytest.MonkeyPatch, code: int) -> McpWorld:
    monkeypatch.setattr(mcp_session, "_client", lambda _: Client(code))
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


@pytest.mark.parametrize(("code", "kind"), [
    (-32000, EpisodeLost), (-32600, EpisodeLost), (-32603, EpisodeLost), (-32001, EpisodeFailed)])
def test_where_the_server_fails_the_policy_reads_nothing(
    monkeypatch: pytest.MonkeyPatch, code: int, kind: type[Exception],
) -> None:
    one = world(monkeypatch, code)
    with pytest.raises(kind, match="the MCP server shelf"):
        one.step(ToolCall("look", {}).action())
    one.close()


def test_an_error_of_the_call_is_read_by_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    one = world(monkeypatch, -32602)
    heard = one.step(ToolCall("look", {"at": 1}).action())
    one.close()
    assert heard.valid is False
    assert heard.messages == [{"role": "tool", "content": "error: look {'at': 1}\n"}]
