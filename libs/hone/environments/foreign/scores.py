"""A world's rewards as one score from 0 to 1, as graders want it."""

from typing import Literal

from pydantic import Field

from hone.environments.contract import EnvironmentParams, EpisodeFailed


class ScoredParams(EnvironmentParams):
    """How rewards of a world become a score."""

    score: Literal["sum", "last"] = Field(
        "sum", description="An episode's reward: the sum of the rewards of its steps, or the last reward.")
    least: float = Field(0.0, description="Reward that scores 0. A reward outside least … most masks its sample.")
    most: float = Field(1.0, description="Reward that scores 1.")
    missing: float | None = Field(
        None, ge=0, le=1, description="Score of an episode that ended before its world gave any reward; null: none, "
        "and its sample is masked.")


class Rewards:
    """The rewards of one episode so far."""

    def __init__(self, params: ScoredParams) -> None:
        self._params, self._given = params, list[float]()

    def add(self, reward: float | None) -> None:
        """Take a step's reward into account; None: the world gave none."""
        if reward is not None:
            self._given.append(reward)

    def score(self, done: bool) -> float | None:
        """Return the score of the present state. Raises EpisodeFailed for a finished episode outside of the range."""
        params = self._params
        if not self._given:
            return params.missing
        total = sum(self._given) if params.score == "sum" else self._given[-1]
        if params.least <= total <= params.most and params.least < params.most:
            return (total - params.least) / (params.most - params.least)
        if done:
            raise EpisodeFailed(f"reward: found {total}, expected {params.least} to {params.most} (params.least, most)")
        return params.missing
