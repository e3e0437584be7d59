"""S1: how many rollouts does each prompt get?"""

from collections.abc import Mapping
from dataclasses import dataclass

from hone.algorithms.method import Method, Metrics, Params, State


@dataclass(frozen=True)
class AllocationInputs:
    """Prompts of a coming step, by task hash, and the rollouts to be given out in all."""

    task_hashes: list[str]
    budget: int


def uniform(inputs: AllocationInputs, params: Params, state: State) -> tuple[list[int], State, Metrics]:
    """n_i = floor(budget / prompts), one more for the first (budget mod prompts)."""
    share, rest = divmod(inputs.budget, len(inputs.task_hashes))
    return [share + (place < rest) for place in range(len(inputs.task_hashes))], state, {}


ALLOCATIONS: Mapping[str, Method[AllocationInputs, list[int]]] = {"uniform": Method(uniform)}
