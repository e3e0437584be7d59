"""The environment `openenv`: a server of the package OpenEnv (`openenv-core` 0.3), by its WebSocket sessions."""

from collections.abc import Mapping
from typing import Any, ClassVar

from hone.environments.contract import Message, Row
from hone.environments.foreign.episode import ForeignEpisode, Played
from hone.environments.foreign.openenv_params import OpenEnvParams
from hone.environments.foreign.openenv_session import OpenEnvWorld
from hone.environments.foreign.places import LOOKUP


class OpenEnv:
    """Tasks follow from the seed, which the server's reset is sent."""

    summary = "Episodes of an OpenEnv server elsewhere, over its WebSocket sessions; it gives the rewards."
    params = OpenEnvParams
    harness = "chat"
    columns: frozenset[str] | None = None
    asked_roles: frozenset[str] = frozenset()
    foreign = True
    elsewhere = True
    example_params: ClassVar[Mapping[str, Any]] = {"world": "my-world"}

    def rules(self, params: OpenEnvParams) -> dict[str, float]:
        return {}

    def messages(self, params: OpenEnvParams, seed: int, item: Row | None) -> list[Message]:
        """Return none: the first observation comes at the reset."""
        return []

    def content(self, params: OpenEnvParams, seed: int, item: Row | None) -> dict[str, Any]:
        return {"world": params.world, "reset": params.reset, "seed": seed}

    def episode(self, params: OpenEnvParams, seed: int, item: Row | None) -> ForeignEpisode:
        place = LOOKUP.finder(params.world, "openenv")
        return ForeignEpisode(Played(
            self.content(params, seed, item), lambda: OpenEnvWorld(place, params, seed), params.turns,
            {"world": params.world}))
