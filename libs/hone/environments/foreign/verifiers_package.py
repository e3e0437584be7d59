"""The environment `verifiers`: environments of the package of that name, in programs of their own."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from hone.environments.contract import Message, Row
from hone.environments.foreign.episode import ForeignEpisode, Played
from hone.environments.foreign.places import LOOKUP, WorldName
from hone.environments.foreign.scores import ScoredParams
from hone.environments.foreign.verifiers_session import VerifiersWorld


class VerifiersParams(ScoredParams):
    """Choice of an environment of `verifiers`, and the length of an episode."""

    world: WorldName = Field(description="Name of the environment in the operator's file (HONE_WORLDS).",
                             examples=["wordle"])
    turns: int = Field(30, ge=1, le=500, description="Most turns of an episode; the package's max_turns may be fewer.")


class VerifiersPackage:
    """A task is one of the environment's own: the seed is its number."""

    summary = "Episodes of an environment of the package verifiers, in a program of its own; its rewards score."
    params = VerifiersParams
    harness = "tool_loop"
    columns: frozenset[str] | None = None
    asked_roles: frozenset[str] = frozenset()
    foreign = True
    elsewhere = True
    example_params: ClassVar[Mapping[str, Any]] = {"world": "my-world"}

    def rules(self, params: VerifiersParams) -> dict[str, float]:
        return {}

    def messages(self, params: VerifiersParams, seed: int, item: Row | None) -> list[Message]:
        """Return none: the first messages come at the reset."""
        return []

    def content(self, params: VerifiersParams, seed: int, item: Row | None) -> dict[str, Any]:
        return {"world": params.world, "row": seed}

    def episode(self, params: VerifiersParams, seed: int, item: Row | None) -> ForeignEpisode:
        place = LOOKUP.finder(params.world, "verifiers")
        return ForeignEpisode(Played(
            self.content(params, seed, item), lambda: VerifiersWorld(params.world, place, params, seed), params.turns,
            {"world": params.world}))
