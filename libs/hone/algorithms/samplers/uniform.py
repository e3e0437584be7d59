"""Samplers (S2): which tasks a run asks. All but uniform draw by a manifest of the tasks' rollouts. numpy, float64."""

from collections.abc import Sequence

import numpy as np

from hone.algorithms.inputs import Floats
from hone.algorithms.method import Method, Metrics, Params, State
from hone.algorithms.topocurate.curation import TaskScore


def uniform(inputs: Sequence[TaskScore], params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """Every row of a dataset once an epoch, in a seeded order; tasks of an environment in the order of its stream."""
    return np.full(len(inputs), 1 / max(1, len(inputs))), state, {}


METHOD: Method[Sequence[TaskScore], Floats] = Method(uniform)
