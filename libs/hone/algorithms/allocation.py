"""Allocations (S1): the number of rollouts of each prompt."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hone.algorithms.method import Method, Metrics, Params, State
from hone.algorithms.success_variance import SuccessHistory, SuccessVarianceParams, dynamo


@dataclass(frozen=True)
class AllocationInputs:
    """Allocation (S1): the prompts of a coming step, and the rollouts to distribute."""

    task_hashes: list[str]
    budget: int  # rollouts of the whole step
    outcomes: Mapping[str, tuple[float, int]] = field(default_factory=dict)  # by hash: sum and number of rewards so far


def uniform(inputs: AllocationInputs, params: Params, state: State) -> tuple[list[int], State, Metrics]:
    """n_i = floor(budget / prompts), and one more for each of the first (budget mod prompts) prompts."""
    share, rest = divmod(inputs.budget, len(inputs.task_hashes))
    return [share + (place < rest) for place in range(len(inputs.task_hashes))], state, {}


def by_variance(
    inputs: AllocationInputs, params: SuccessVarianceParams, state: State
) -> tuple[list[int], State, Metrics]:
    """More rollouts for prompts whose outcomes vary, n_min <= n_i <= n_max: see `hone.algorithms.success_variance`."""
    known = np.array([inputs.outcomes.get(task, (0.0, 0)) for task in inputs.task_hashes], np.float64)
    return dynamo(SuccessHistory(known[:, 0], known[:, 1], inputs.budget), params, state)


ALLOCATIONS: Mapping[str, Method[AllocationInputs, list[int]]] = {
    "uniform": Method(uniform),
    "dynamo": Method(by_variance, SuccessVarianceParams),
}
