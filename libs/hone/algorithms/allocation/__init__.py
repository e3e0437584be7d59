"""Allocations (S1): the number of rollouts of each prompt."""

from collections.abc import Mapping

from hone.algorithms.allocation.coba_rl import CobaRlParams, coba_rl
from hone.algorithms.allocation.dynamo import SuccessVarianceParams, by_variance
from hone.algorithms.allocation.inputs import AllocationInputs, AllocationParams
from hone.algorithms.allocation.shares import equal_shares
from hone.algorithms.allocation.v0 import V0Params, v0
from hone.algorithms.allocation.v0_5 import V05Params, v0_5
from hone.algorithms.method import Method, Metrics, State


def uniform(inputs: AllocationInputs, params: AllocationParams, state: State) -> tuple[list[int], State, Metrics]:
    """n_i = floor(budget / prompts), and one more for each of the first (budget mod prompts) prompts."""
    return equal_shares(len(inputs.task_hashes), inputs.budget).tolist(), state, {}


ALLOCATIONS: Mapping[str, Method[AllocationInputs, list[int]]] = {
    "uniform": Method(uniform, AllocationParams),
    "dynamo": Method(by_variance, SuccessVarianceParams),
    "coba_rl": Method(coba_rl, CobaRlParams),
    "v0": Method(v0, V0Params),
    "v0_5": Method(v0_5, V05Params),
}
