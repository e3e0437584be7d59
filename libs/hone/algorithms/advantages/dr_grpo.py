"""Dr. GRPO, arXiv 2503.20783; meant for the aggregation `seq-mean-token-sum-norm`."""

import numpy as np

from hone.algorithms.advantages.statistics import broadcast, group_metrics, members, varies
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats
from hone.algorithms.method import Method, Metrics, Params, State


def dr_grpo(inputs: AdvantageInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """A_i = R_i - mean over the group; exactly 0 where the group does not vary."""
    advantage = np.zeros_like(inputs.reward)
    for rows in members(inputs.group):
        reward = inputs.reward[rows]
        if varies(reward):
            advantage[rows] = reward - reward.mean()
    return broadcast(advantage, inputs.tokens), state, group_metrics(inputs)


METHOD: Method[AdvantageInputs, Estimate] = Method(dr_grpo, needs_peers=True, within_group=True)
