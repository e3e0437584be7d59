"""Contrast, of experience internalization, arXiv 2606.04703: keep tasks with both right and wrong rollouts."""

from hone.algorithms.inputs import FilterInputs
from hone.algorithms.method import Metrics, Params, State


def contrast(inputs: FilterInputs, params: Params, state: State) -> tuple[list[bool], State, Metrics]:
    """keep = (0 < mean_i r_i < 1), over the task's valid rollouts, r in [0, 1]."""
    valid = [[reward for reward in rewards if reward is not None] for rewards in inputs.rewards]
    kept = [bool(rewards) and 0 < sum(rewards) / len(rewards) < 1 for rewards in valid]
    return kept, state, {"filtered_groups": float(len(kept) - sum(kept))}
