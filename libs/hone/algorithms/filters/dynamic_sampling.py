"""Dynamic sampling of DAPO, arXiv 2503.14476: groups without signal are dropped, and others sampled instead."""

from collections.abc import Sequence

from pydantic import Field

from hone.algorithms.inputs import FilterInputs
from hone.algorithms.method import Method, Metrics, Params, State


class DynamicSampling(Params):
    """The smallest signal, and the number of sampling rounds."""

    tolerance: float = Field(
        1e-8, ge=0, description="A group whose largest and smallest reward differ by at most this has no signal.")
    max_rounds: int = Field(
        10, ge=0, le=100, description="Most extra sampling rounds; then the step trains on the groups that it has.")


def dynamic_sampling(inputs: FilterInputs, params: DynamicSampling, state: State) -> tuple[list[bool], State, Metrics]:
    """keep = (max_i R_i - min_i R_i > tolerance), over the group's valid samples; fewer than two have none."""
    kept = [_spread(rewards) > params.tolerance for rewards in inputs.rewards]
    return kept, state, {"filtered_groups": float(len(kept) - sum(kept))}


def _spread(rewards: Sequence[float | None]) -> float:
    valid = [reward for reward in rewards if reward is not None]
    return max(valid) - min(valid) if valid else 0.0


METHOD: Method[FilterInputs, list[bool]] = Method(dynamic_sampling, DynamicSampling)
