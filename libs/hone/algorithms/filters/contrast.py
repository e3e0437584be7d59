"""Contrast, of experience internalization, arXiv 2606.04703: keep tasks with both right and wrong rollouts."""

from hone.algorithms.inputs import FilterInputs
from hone.algorithms.method import Method, Metrics, Params, State


def contrast(inputs: FilterInputs, params: Params, state: State) -> tuple[list[bool], State, Metrics]:
    """keep = (lowest < mean_i r_i < highest), over the task's valid rollouts, r in [lowest, highest]."""
    lowest, highest = inputs.bounds
    valid = [[reward for reward in rewards if reward is not None] for rewards in inputs.rewards]
    kept = [bool(rewards) and lowest < sum(rewards) / len(rewards) < highest for rewards in valid]
    return kept, state, {"filtered_groups": float(len(kept) - sum(kept))}


METHOD: Method[FilterInputs, list[bool]] = Method(contrast)
