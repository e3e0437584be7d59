"""Scores of turns, pooled over a group: HIPIF, arXiv 2606.10507. The pool and eps are a reconstruction."""

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.statistics import group_metrics, members, varies
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats, Ints
from hone.algorithms.method import Method, Metrics, Params, State
from hone.trajectory.turns import Turns


class StepPooledParams(Params):
    """The values that are normalised together."""

    eps: float = Field(1e-6, gt=0, description="Added to the standard deviation; a smaller deviation gives 0.")
    traj_then_step: bool = Field(
        False, description="Normalise outcomes and turn rewards separately, then add them.")

    def needs(self) -> frozenset[str]:
        """The reward of each turn."""
        return frozenset({"turns"})


def step_pooled(inputs: AdvantageInputs, params: StepPooledParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_{i,t} = z(S_{i,t}), S_{i,t} = R_i + r^proc_{i,t}, z(x) = (x - mu) / (sigma + eps), for every token of turn t.

    mu and the population sigma are over all turns of the group, also without trained tokens. With `traj_then_step`:
    z(R_i) over the trajectories + z(r^proc_{i,t}) over the turns. z is exactly 0 where x does not vary or sigma < eps;
    A is 0 in a group of one trajectory. Raises ValueError without turns.
    """
    if inputs.turns is None:
        raise ValueError("turns: found none, expected the policy calls of the trajectories")
    advantage, flat = np.zeros(len(inputs.turns.tokens)), 0
    for rows in members(inputs.group):
        if len(rows) > 1:
            steps = np.flatnonzero(np.isin(inputs.turns.trajectory, rows))
            advantage[steps] = _scored(inputs.reward, rows, inputs.turns, steps, params)
            flat += not advantage[steps].any()
    metrics = {**group_metrics(inputs), "zero_variance_groups": float(flat),
               **{f"rule/{name}": float(scores.mean()) for name, scores in inputs.turns.rules.items() if len(scores)}}
    return np.repeat(advantage, inputs.turns.tokens), state, metrics


def _scored(outcome: Floats, rows: Ints, turns: Turns, steps: Ints, params: StepPooledParams) -> Floats:
    owner = turns.trajectory[steps]
    if not params.traj_then_step:
        return _z(outcome[owner] + turns.reward[steps], params.eps)
    return _z(outcome[rows], params.eps)[np.searchsorted(rows, owner)] + _z(turns.reward[steps], params.eps)


def _z(values: Floats, eps: float) -> Floats:
    sigma = values.std()
    if not varies(values) or sigma < eps:
        return np.zeros_like(values)
    scored: Floats = (values - values.mean()) / (sigma + eps)
    return scored


METHOD: Method[AdvantageInputs, Estimate] = Method(step_pooled, StepPooledParams, needs_peers=True, within_group=True)
