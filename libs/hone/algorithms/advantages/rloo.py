"""RLOO, arXiv 2402.14740."""

import numpy as np

from hone.algorithms.advantages.statistics import broadcast, group_metrics, members, varies
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats
from hone.algorithms.method import Method, Metrics, Params, State


def rloo(inputs: AdvantageInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """A_i = R_i - mean_{j != i} R_j = G / (G - 1) (R_i - mean over the group of G).

    A group of one has A = R - b with the prompt's running mean b, or A = 0 before there is such a mean.
    """
    advantage = np.zeros_like(inputs.reward)
    for rows in members(inputs.group):
        reward, size = inputs.reward[rows], len(rows)
        if size == 1:
            advantage[rows] = np.nan_to_num(reward - inputs.baseline[rows], nan=0.0)
        elif varies(reward):
            advantage[rows] = size / (size - 1) * (reward - reward.mean())
    return broadcast(advantage, inputs.tokens), state, group_metrics(inputs)


METHOD: Method[AdvantageInputs, Estimate] = Method(rloo, within_group=True, reads_baseline=True)
