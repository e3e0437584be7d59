"""The contract of a harness: it turns observations into prompts for the policy, and completions into actions."""

from typing import Any, Protocol

from pydantic import ConfigDict, Field

from hone.environments.contract import Message
from hone.harnesses.spans import Marks
from hone.spec.parameters import Strict

Tools = list[dict[str, Any]]
"""Tools in OpenAI's format of functions."""


class HarnessParams(Strict):
    """Parameters of a harness. Unknown keys and values of another type are errors."""

    model_config = ConfigDict(strict=True)

    max_turns: int | None = Field(
        None, ge=1, description="Most model calls of an episode; null: no limit.")
    max_context: int | None = Field(
        None, ge=2, description="Most tokens of a prompt and its completion together; null: the engine's or the "
        "model's limit, whichever is smaller. "
        "An episode that would need more ends.")
    spans: list[Marks] = Field(
        [], description="Named parts of completions, which methods read or which have another weight in the loss.")


class Harness(Protocol):
    """A way for a policy to act in an environment. It works with any environment and any algorithm."""

    @property
    def summary(self) -> str:
        """One sentence that tells a user what it does."""

    @property
    def params(self) -> type[HarnessParams]:
        """Type of the parameters."""

    def opening(self, params: Any, messages: list[Message], tools: Tools) -> list[Message]:
        """Return the messages that the policy reads first."""

    def shown(self, params: Any, tools: Tools) -> Tools:
        """Return the tools that the model's own chat template shows the policy."""

    def actions(self, params: Any, text: str, tools: Tools) -> list[str]:
        """Return the actions of a completion in order; at least one."""
