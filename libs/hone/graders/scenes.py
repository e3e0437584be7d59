"""The world of a sample, to be looked at: a copy of the environment in its last state, with tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

State = Literal["before", "after"]
"""Before the first action, or after the last one."""


class WorldLost(Exception):
    """The environment's last state could not be reached. This is no fact about the policy: the sample is masked."""


@dataclass(frozen=True)
class Seen:
    """Screen of a tool."""

    text: str
    valid: bool = True  # False: the tool could not be used, and the text says why


class Scene(Protocol):
    """A copy of a world, in its last state and in its first. What its tools change, nobody else sees."""

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """The environment's tools for judges, as OpenAI describes functions."""

    async def use(self, tool: str, arguments: Mapping[str, Any], state: State = "after") -> Seen:
        """Use a tool in the last state, or in the first. Raises WorldLost."""
