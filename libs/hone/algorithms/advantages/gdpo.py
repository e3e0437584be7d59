"""GDPO, arXiv 2601.05242: each of several rewards is normalised by itself, then they are added."""

from typing import Literal

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.statistics import broadcast, group_metrics, members, z_score
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats, Ints
from hone.algorithms.method import Method, Metrics, Params, State


class GdpoParams(Params):
    """Weights of the rewards, and the convention of the z-score."""

    weights: dict[str, float] = Field(
        default_factory=dict, description="Factor of each reward by its name; default 1.")
    std_ddof: Literal[0, 1] = Field(1, description="0: population standard deviation; 1: Bessel's correction.")
    eps: float = Field(1e-6, gt=0, description="Added to the standard deviation.")

    def needs(self) -> frozenset[str]:
        """The parts of the reward."""
        return frozenset({"components"})


def gdpo(inputs: AdvantageInputs, params: GdpoParams, state: State) -> tuple[Floats, State, Metrics]:
    """A = z_batch(sum_k w_k z_group(R^k)), z(x) = (x - mean) / (std + eps), exactly 0 where x does not vary.

    z_group is over the group's trajectories in which reward k is active; it is 0 for others. z_batch is over all
    trajectories, each counted once. Raises ValueError without components.
    """
    if not inputs.components:
        raise ValueError("components: found none, expected at least one reward by name")
    groups, total = members(inputs.group), np.zeros(len(inputs.tokens))
    for name, reward in inputs.components.items():
        total += params.weights.get(name, 1.0) * _within_groups(reward, groups, params)
    # Every z_group has the sum 0, so the batch's mean is 0 but for rounding; a total of 0 stays exactly 0.
    advantage = np.where(total == 0, 0.0, z_score(total, params.std_ddof, params.eps))
    missing = float(len(params.weights.keys() - inputs.components.keys()))
    return broadcast(advantage, inputs.tokens), state, {**group_metrics(inputs), "weights_without_reward": missing}


def _within_groups(reward: Floats, groups: list[Ints], params: GdpoParams) -> Floats:
    scored = np.zeros_like(reward)
    for rows in groups:
        active = rows[~np.isnan(reward[rows])]
        scored[active] = z_score(reward[active], params.std_ddof, params.eps)
    return scored


METHOD: Method[AdvantageInputs, Estimate] = Method(gdpo, GdpoParams, needs_peers=True, excludes={
    ("reward", "overlong"): "which shapes the sum; gdpo reads the parts of a reward"})
