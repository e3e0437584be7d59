"""HIAN of DuCA, arXiv 2603.01481. A reconstruction: the paper gives the structure, most constants are Hone's."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.statistics import group_metrics, group_z_score, z_score
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats, Ints
from hone.algorithms.method import Method, Metrics, Params, State
from hone.trajectory.turns import Turns

_FEWEST_AT_A_POSITION = 4
_ALARMING_SHARE = 0.2


class HianParams(Params):
    """Weights of session and turn, and the turns that a turn is compared with."""

    w_sess: float = Field(1.0, ge=0, description="Weight of the session's advantage.")
    w_turn: float = Field(1.0, ge=0, description="Weight of the turn's advantage, at the end of its schedule.")
    w_turn_schedule: Literal["constant", "linear"] = Field(
        "constant", description="linear: w_turn rises from w_turn_start over the first ramp_fraction of the steps.")
    w_turn_start: float = Field(0.1, ge=0, description="Weight of the turn's advantage at step 0 of a linear schedule.")
    ramp_fraction: float = Field(0.5, gt=0, le=1, description="Share of the run's steps over which w_turn rises.")
    gamma_turn: float = Field(0.0, ge=0, le=1, description="Discount of a turn's reward for each turn before it.")
    turn_statistics: Literal["group", "per_position", "batch"] = Field(
        "group", description="Turns that a turn is compared with: of its group, of its group and position, or all.")
    per_rule: bool = Field(
        False, description="Normalise each turn rule by itself, for rules that fire at different rates.")
    rule_weights: dict[str, Annotated[float, Field(ge=0, le=1e6)]] = Field(
        default_factory=dict, description="With per_rule: weight of each rule by its name; default 1.")
    eps: float = Field(1e-6, gt=0, description="Added to the standard deviations.")

    def needs(self) -> frozenset[str]:
        """Turns, and the scores of their rules."""
        return frozenset({"turns", "rules"})


def hian(inputs: AdvantageInputs, params: HianParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_it = w_sess z_group(R_i) + w_turn z(u_it), u_it = sum_{s >= t} gamma_turn^(s-t) r_is, for all tokens of turn t.

    z has the population's deviation and is exactly 0 where all values are equal. R is the outcome alone. With
    `per_rule`, sum_j c_j z(u^j_it) / sum_j c_j over the rules j replaces z(u_it); 0 where all weights are 0.
    Turns without trained tokens are in no statistic, but count in the returns of earlier turns. State: {outcome,
    turn_reward}, means of the first step. Raises ValueError without turns, or with `per_rule` without rules.
    """
    turns = inputs.turns
    if turns is None:
        raise ValueError("turns: found none, expected the trajectories' turns")
    weight = turn_weight(params, inputs.step, inputs.steps)
    session = params.w_sess * group_z_score(inputs.reward, inputs.group, 0, params.eps)[turns.trajectory]
    turn = weight * _turn_scores(turns, inputs.group, params)
    means = {"outcome": float(inputs.reward.mean()), "turn_reward": float(turns.reward.mean())}
    first = state or means
    metrics = {
        **group_metrics(inputs), **means, "w_turn": weight, "conversion_alarm": _alarm(first, means),
        "session_abs": _token_mean(abs(session), turns), "turn_abs": _token_mean(abs(turn), turns),
        **{f"rule/{name}": float(scores.mean()) for name, scores in turns.rules.items()},
    }
    return np.repeat(session + turn, turns.tokens), first, metrics


def turn_weight(params: HianParams, step: int, steps: int) -> float:
    """Return start + (w_turn - start) min(1, step / (ramp_fraction steps)), or w_turn where it is constant."""
    if params.w_turn_schedule == "constant":
        return params.w_turn
    done = min(1.0, step / (params.ramp_fraction * steps))
    return params.w_turn_start + (params.w_turn - params.w_turn_start) * done


def turn_returns(turns: Turns, gamma: float) -> Floats:
    """Return u_t = r_t + gamma u_{t+1} within each trajectory, [T]."""
    returns = turns.reward.copy()
    for place in range(len(returns) - 2, -1, -1):
        if turns.trajectory[place] == turns.trajectory[place + 1]:
            returns[place] += gamma * returns[place + 1]
    return returns


def _turn_scores(turns: Turns, group: Ints, params: HianParams) -> Floats:
    if not params.per_rule:
        return _compared(turns, group, params)
    if not turns.rules:
        raise ValueError("turns.rules: found none, expected the scores of each rule by name")
    weights = np.array([params.rule_weights.get(name, 1.0) for name in turns.rules])
    scores = [_compared(replace(turns, reward=given), group, params) for given in turns.rules.values()]
    mean: Floats = weights @ np.stack(scores) / (weights.sum() or 1.0)
    return mean


def _compared(turns: Turns, group: Ints, params: HianParams) -> Floats:
    trained = turns.tokens > 0
    values, session = turn_returns(turns, params.gamma_turn)[trained], turns.trajectory[trained]
    scores = np.zeros(len(trained))
    scores[trained] = z_score(values, 0, params.eps)
    if params.turn_statistics != "batch":
        _, number, sessions = np.unique(group, return_inverse=True, return_counts=True)
        within = group_z_score(values, number[session], 0, params.eps)
        if params.turn_statistics == "per_position":
            within = _by_position(values, number[session], _positions(turns)[trained], within, params.eps)
        # A session without siblings keeps the statistics of the batch.
        scores[trained] = np.where(sessions[number[session]] == 1, scores[trained], within)
    return scores


def _positions(turns: Turns) -> Ints:
    return np.arange(len(turns.trajectory)) - np.searchsorted(turns.trajectory, turns.trajectory)


def _by_position(values: Floats, group: Ints, position: Ints, within: Floats, eps: float) -> Floats:
    place = group * (position.max(initial=0) + 1) + position
    _, number, turns = np.unique(place, return_inverse=True, return_counts=True)
    return np.where(turns[number] >= _FEWEST_AT_A_POSITION, group_z_score(values, place, 0, eps), within)


def _alarm(first: State, now: Metrics) -> float:
    """Return 1 when the outcome fell by more than a fifth since the first step and the turns' reward rose."""
    fell = now["outcome"] < first["outcome"] - _ALARMING_SHARE * abs(first["outcome"])
    return float(fell and now["turn_reward"] > first["turn_reward"])


def _token_mean(values: Floats, turns: Turns) -> float:
    return float(np.average(values, weights=turns.tokens))


METHOD: Method[AdvantageInputs, Estimate] = Method(hian, HianParams)
