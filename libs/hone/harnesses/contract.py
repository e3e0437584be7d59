"""What a harness promises: it turns observations into what the policy reads, and what it wrote into actions."""

from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from hone.environments.contract import Message
from hone.harnesses.spans import Marks

Tools = list[dict[str, Any]]
"""As OpenAI describes functions."""


class HarnessParams(BaseModel):
    """A harness's parameters. Unknown keys are errors, nothing is coerced."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    max_turns: int | None = Field(
        None, ge=1, description="Model calls of an episode at most; null: as many as it takes.")
    max_context: int | None = Field(
        None, ge=2, description="Tokens of a prompt and its answer at most; null: as many as an engine holds. "
        "An episode that would need more ends.")
    spans: list[Marks] = Field(
        [], description="Parts of what the policy writes: methods read them, or they weigh more or less than the rest.")


class Harness(Protocol):
    """A way to let a policy act in an environment. It knows neither environment nor algorithm."""

    @property
    def summary(self) -> str:
        """One sentence for a person who chooses."""

    @property
    def params(self) -> type[HarnessParams]:
        """Model of the parameters."""

    def opening(self, params: Any, messages: list[Message], tools: Tools) -> list[Message]:
        """Return what the policy reads first."""

    def actions(self, params: Any, text: str, tools: Tools) -> list[str]:
        """Return the actions that a completion takes, in order; at least one."""
