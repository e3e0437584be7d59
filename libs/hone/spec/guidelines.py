"""Request for the search of a guideline for noise that leads a target agent away."""

from typing import Any

from pydantic import Field

from hone.spec.noise import Lure
from hone.spec.parameters import Strict
from hone.spec.roles import AuthorSpec


class AgentSpec(AuthorSpec):
    """Who acts, or judges: equal questions should have equal answers."""

    max_tokens: int = Field(1024, ge=1, le=65_536, description="Most tokens of an answer.")
    temperature: float = Field(0.0, ge=0, le=2)


class GuidelineSpec(Strict):
    """The noise, the agent that it should lead away, and where that agent acts. The job's author is the optimiser."""

    type: Lure = Field("misleading", description="Type of the noise.")
    target: AgentSpec = Field(description="The agent that should deviate.")
    noiser: AuthorSpec | None = Field(None, description="Who writes the noise; null: the author.")
    judge: AgentSpec | None = Field(None, description="Who says whether the target deviates; null: the author.")
    environment: str = Field("sqlite", description="Environment with tools in which the target acts: sqlite, desk.")
    params: dict[str, Any] = Field({}, description="Its parameters.")
    rounds: int = Field(8, ge=1, le=66, description="Most guidelines that are tried.")
