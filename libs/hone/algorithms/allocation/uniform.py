"""Allocations (S1): the number of rollouts of each prompt."""

from hone.algorithms.allocation.inputs import AllocationInputs, AllocationParams
from hone.algorithms.allocation.shares import equal_shares
from hone.algorithms.method import Method, Metrics, State


def uniform(inputs: AllocationInputs, params: AllocationParams, state: State) -> tuple[list[int], State, Metrics]:
    """n_i = floor(budget / prompts), and one more for each of the first (budget mod prompts) prompts."""
    return equal_shares(len(inputs.task_hashes), inputs.budget).tolist(), state, {}


METHOD: Method[AllocationInputs, list[int]] = Method(uniform, AllocationParams)
