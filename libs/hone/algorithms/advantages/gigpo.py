"""GiGPO, arXiv 2505.10978: compares a trajectory with its group, and a turn with turns of the same observation."""

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.statistics import discounted_sums, group_metrics, members, varies, z_score
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats, Ints
from hone.algorithms.method import Method, Metrics, Params, State
from hone.trajectory.turns import Turns


class GigpoParams(Params):
    """A turn's return, and its comparison with other turns."""

    gamma: float = Field(0.95, ge=0, le=1, description="Discount of a turn's reward for each turn before it.")
    omega: float = Field(1.0, ge=0, description="Weight of the turn's part; the trajectory's part has weight 1.")
    norm: Literal["mean_norm", "mean_std_norm"] = Field(
        "mean_norm", description="F: x - mean, or the z-score with ddof 1.")
    eps: float = Field(1e-6, gt=0, description="Added to the standard deviation of mean_std_norm.")
    cross_step_stats: bool = Field(
        False, description="Count a trajectory once for each of its turns in the group's statistics, as in the public "
        "code.")

    def needs(self) -> frozenset[str]:
        """The reward and the observation of each turn."""
        return frozenset({"turns"})


def gigpo(inputs: AdvantageInputs, params: GigpoParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_{i,t} = F(R_i) over the group + omega F(G_{i,t}) over the anchor group, for every trained token of turn t.

    r_{i,t}: the turn's reward, plus the outcome on the last turn; R_i = sum_t r_{i,t}; G_{i,t} = sum_{u>=t}
    gamma^(u-t) r_{i,u}. Anchor group: the turns of the prompt group with the same observation, also without trained
    tokens. F is exactly 0 where nothing varies. Raises ValueError without turns.
    """
    if inputs.turns is None:
        raise ValueError("turns: found none, expected the policy calls of the trajectories")
    turns, counts = inputs.turns, np.bincount(inputs.turns.trajectory, minlength=len(inputs.tokens))
    reward = _step_rewards(inputs.reward, turns, counts)
    total: Floats = np.add.reduceat(reward, np.cumsum(counts) - counts)
    anchors = members(_anchors(inputs.group, turns))
    ahead = discounted_sums(reward, counts, params.gamma)
    advantage = _episode(total, inputs.group, turns, params) + params.omega * _compared(ahead, anchors, params)
    alone = sum(len(rows) == 1 for rows in anchors) / max(1, len(anchors))
    metrics = {**group_metrics(replace(inputs, reward=total)), "single_anchor_fraction": float(alone)}
    return np.repeat(advantage, turns.tokens), state, metrics


def _step_rewards(outcome: Floats, turns: Turns, counts: Ints) -> Floats:
    reward = turns.reward.copy()
    reward[np.cumsum(counts) - 1] += outcome
    return reward


def _anchors(group: Ints, turns: Turns) -> Ints:
    """Return a number for each turn. Turns of equal prompt group and observation have equal numbers."""
    pairs = np.stack([group[turns.trajectory], turns.observation])
    return np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1)


def _episode(total: Floats, group: Ints, turns: Turns, params: GigpoParams) -> Floats:
    """Return F(R_i) for each turn of i."""
    owner = turns.trajectory
    if params.cross_step_stats:
        return _compared(total[owner], members(group[owner]), params)
    return _compared(total, members(group), params)[owner]


def _compared(values: Floats, groups: list[Ints], params: GigpoParams) -> Floats:
    """Return F of `values` within each of the groups."""
    compared = np.zeros_like(values)
    for rows in groups:
        if params.norm == "mean_std_norm":
            compared[rows] = z_score(values[rows], 1, params.eps)
        elif varies(values[rows]):
            compared[rows] = values[rows] - values[rows].mean()
    return compared


METHOD: Method[AdvantageInputs, Estimate] = Method(gigpo, GigpoParams, needs_peers=True, within_group=True)
