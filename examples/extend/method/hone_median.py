"""Advantages over the median of a group: one very good sample does not make all others bad."""

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.statistics import broadcast, group_metrics, members
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats
from hone.algorithms.method import Method, Metrics, Params, State


class MedianParams(Params):
    """The scale. Users see the schema of this class, with the descriptions."""

    scale: float = Field(1.0, gt=0, description="Factor of the advantages.")


def median(inputs: AdvantageInputs, params: MedianParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_i = scale * (R_i - median of the rewards of its group), the same for each token of sample i.

    `inputs.reward` has one reward a sample, [B]; the result has one advantage a trained token, [M].
    """
    advantage = np.zeros_like(inputs.reward)
    for rows in members(inputs.group):
        advantage[rows] = params.scale * (inputs.reward[rows] - np.median(inputs.reward[rows]))
    return broadcast(advantage, inputs.tokens), state, group_metrics(inputs)


METHOD: Method[AdvantageInputs, Estimate] = Method(median, MedianParams, needs_peers=True, within_group=True)
