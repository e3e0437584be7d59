"""S2: which groups count? Decided on the raw task reward, before S3."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from hone.algorithms.method import Method, Metrics, Params, State

Groups = Sequence[Sequence[float | None]]
"""Raw rewards of each group's samples; None is a sample whose grade is missing through our own fault."""


class DynamicSampling(Params):
    """Source: DAPO, arXiv 2503.14476."""

    tolerance: float = Field(1e-8, ge=0, description="Largest max - min of a group without signal.")
    max_rounds: int = Field(10, ge=0, description="Extra rounds of generation before a step trains on what is there.")


def none(inputs: Groups, params: Params, state: State) -> tuple[list[bool], State, Metrics]:
    """Every group counts."""
    return [True] * len(inputs), state, {"filtered_groups": 0.0}


def dynamic_sampling(inputs: Groups, params: DynamicSampling, state: State) -> tuple[list[bool], State, Metrics]:
    """keep = (max_i R_i - min_i R_i > tolerance), over the group's valid samples; fewer than two never vary."""
    kept = [_spread(rewards) > params.tolerance for rewards in inputs]
    return kept, state, {"filtered_groups": float(len(kept) - sum(kept))}


def _spread(rewards: Sequence[float | None]) -> float:
    valid = [reward for reward in rewards if reward is not None]
    return max(valid) - min(valid) if valid else 0.0


FILTERS: Mapping[str, Method[Groups, list[bool]]] = {
    "none": Method(none),
    "dynamic_sampling": Method(dynamic_sampling, DynamicSampling),
}
