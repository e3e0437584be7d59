"""The environment `mcp`: the tools of an MCP server, for the questions of a dataset."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from hone.environments.contract import EnvironmentParams, Message, Row, WrongParams
from hone.environments.dataset import conversation
from hone.environments.foreign.episode import ForeignEpisode, Played
from hone.environments.foreign.mcp_session import McpWorld
from hone.environments.foreign.places import LOOKUP, WorldName
from hone.text.shape import unanswerable


class McpParams(EnvironmentParams):
    """Choice of a server and of its tools, and how answers are graded."""

    world: WorldName = Field(
        description="Name of the server: of `hone judges set NAME URL --protocol mcp`, or of the operator's file.",
        examples=["tickets"])
    tools: list[str] = Field([], description="Tools that are offered; empty: all of the server's.")
    grader: dict[str, Any] = Field(
        {"type": "exact"}, description="JSON of the grader of every row, for the last answer; its templates read the "
        "row as item.")
    instruction: str = Field("", max_length=20_000, description="System message at the beginning.")
    turns: int = Field(30, ge=1, le=500, description="Most turns of an episode: tool calls and the final answer.")


class Mcp:
    """A task is a row with `prompt` or `messages`, and what its grader reads."""

    summary = "Questions of a dataset with the tools of an MCP server elsewhere; a grader reads the last answer."
    params = McpParams
    harness = "tool_loop"
    columns: frozenset[str] | None = frozenset()
    asked_roles: frozenset[str] = frozenset()
    foreign = True
    elsewhere = True
    example_params: ClassVar[Mapping[str, Any]] = {"world": "my-tools"}
    needs_rows = True

    def rules(self, params: McpParams) -> dict[str, float]:
        return {}

    def messages(self, params: McpParams, seed: int, item: Row | None) -> list[Message]:
        said = conversation(item)
        for wrong in unanswerable(said):
            raise WrongParams(f"item.{wrong.field}", wrong.found, wrong.expected)
        return [{"role": "system", "content": params.instruction}, *said] if params.instruction else said

    def content(self, params: McpParams, seed: int, item: Row | None) -> dict[str, Any]:
        return {"world": params.world, "messages": self.messages(params, seed, item)}

    def episode(self, params: McpParams, seed: int, item: Row | None) -> ForeignEpisode:
        opening, place = self.messages(params, seed, item), LOOKUP.finder(params.world, "mcp")
        return ForeignEpisode(Played(
            self.content(params, seed, item), lambda: McpWorld(params.world, place, opening, params.tools),
            params.turns, item or {}, params.grader))
