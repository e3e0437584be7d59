"""GRPO, arXiv 2402.03300."""

from typing import Literal

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.statistics import broadcast, group_metrics, members, z_score
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats
from hone.algorithms.method import Method, Metrics, Params, State


class GrpoParams(Params):
    """The convention of the standard deviation, and the advantage of a single sample."""

    std_ddof: Literal[0, 1] = Field(1, description="0: population standard deviation; 1: Bessel's correction.")
    eps: float = Field(1e-6, gt=0, description="Added to the standard deviation.")
    single_sample: Literal["zero", "reward"] = Field(
        "zero", description="Advantage of a group of one sample: 0, or R as in verl.")


def grpo(inputs: AdvantageInputs, params: GrpoParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_i = (R_i - mean) / (std + eps) over the group; exactly 0 where the group does not vary."""
    advantage = np.zeros_like(inputs.reward)
    for rows in members(inputs.group):
        reward = inputs.reward[rows]
        single = len(rows) == 1 and params.single_sample == "reward"
        advantage[rows] = reward if single else z_score(reward, params.std_ddof, params.eps)
    return broadcast(advantage, inputs.tokens), state, group_metrics(inputs)


METHOD: Method[AdvantageInputs, Estimate] = Method(grpo, GrpoParams, needs_peers=True, within_group=True)
