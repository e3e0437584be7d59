"""Parameters of the environment `openenv`."""

from typing import Any, Literal

from pydantic import Field

from hone.environments.foreign.places import WorldName
from hone.environments.foreign.scores import ScoredParams


class OpenEnvParams(ScoredParams):
    """Choice of a server, of the form of actions, and of the shown part of observations."""

    world: WorldName = Field(
        description="Name of the server: of `hone judges set NAME URL --protocol openenv`, or of the operator's file.",
        examples=["echo"])
    reset: dict[str, Any] = Field({}, description="Further arguments of the reset, in addition to the seed.")
    action: Literal["auto", "json", "text", "tool"] = Field(
        "auto", description="Form of an answer: json by the server's schema of actions; the text of its single text "
        "field; the call of a tool `act` (harness tool_loop); auto: text where the schema has one required field and "
        "that is a text, else json.")
    field: str = Field("", description="Field of the action that holds the text of an answer; empty: its only text "
                       "field.")
    show: str = Field(
        "", description="Field of the observation that is shown; empty: its only text, or else all of it as JSON.")
    errors: Literal["mask", "show"] = Field(
        "mask", description="Effect of a server's error in a step: it masks the sample, or it is shown to the "
        "policy, whose turn it was.")
    instruction: str = Field("", max_length=20_000, description="System message at the beginning.")
    turns: int = Field(30, ge=1, le=1000, description="Most steps of an episode.")
