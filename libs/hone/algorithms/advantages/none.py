"""Advantages (S4): estimators over the trajectories of a step, one value for each trained token."""

import numpy as np

from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats
from hone.algorithms.method import Method, Metrics, Params, State


def none(inputs: AdvantageInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """A = 1: all trained tokens have the same weight, as in supervised training."""
    return np.ones(int(inputs.tokens.sum())), state, {}


METHOD: Method[AdvantageInputs, Estimate] = Method(none, within_group=True)
