"""HeavySkill's reinforcement learning, arXiv 2605.02396. A reconstruction: only an outline is published."""

from typing import Literal

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.exclusions import SEVERAL
from hone.algorithms.advantages.statistics import group_z_score, members, varies
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats, Ints, Track
from hone.algorithms.method import Method, Metrics, Params, State
from hone.trajectory.turns import Turns

_KINDS = ("attempt", "deliberate")


class HeavyskillParams(Params):
    """The trained stages, and the sequences that are compared."""

    mode: Literal["deliberate", "joint"] = Field(
        "deliberate", description="deliberate: train deliberations only; joint: train attempts, too.")
    attempt_weight: float = Field(1.0, ge=0, description="c_par, weight of the attempts' loss in mode joint.")
    group_key: Literal["call", "group"] = Field(
        "call", description="Compare calls of one group key (the attempts of a prompt, the deliberations that read the "
        "same attempts), or of one prompt.")
    eps: float = Field(1e-6, gt=0, description="Added to the standard deviation.")

    def needs(self) -> frozenset[str]:
        """Turns of the kinds attempt and deliberate."""
        return frozenset({"turns", "kinds"})


def heavyskill(inputs: AdvantageInputs, params: HeavyskillParams, state: State) -> tuple[list[Track], State, Metrics]:
    """A = (r - mean) / (population std + eps) among the deliberations of a key; in mode joint also among its attempts.

    A turn is one sequence. Its r is its own reward. Where the grader gave no turn of a trajectory a score, the last one
    has the outcome beside. Attempts may come before their deliberation or be trajectories of their own. A turn without
    r or without trained tokens is ignored. A is exactly 0 where all r are equal. Raises ValueError without turns or for
    another kind of turn.
    """
    turns = _checked(inputs.turns)
    reward, key = _rewards(inputs, turns), _keys(inputs, turns, params)
    stages = {"deliberate": 1.0} | ({"attempt": params.attempt_weight} if params.mode == "joint" else {})
    tracks: list[Track] = []
    metrics: Metrics = {}
    for kind, weight in stages.items():
        own = np.array([each == kind for each in turns.kind], dtype=bool) & np.isfinite(reward) & (turns.tokens > 0)
        scores = np.zeros(len(own))
        scores[own] = group_z_score(reward[own], key[own], 0, params.eps)
        tracks.append(Track(kind, np.repeat(scores, turns.tokens), np.repeat(own, turns.tokens), weight))
        metrics |= _metrics(kind, reward[own], key[own])
    return tracks, state, metrics


def _checked(turns: Turns | None) -> Turns:
    if turns is None:
        raise ValueError("turns: found none, expected the trajectories' turns")
    if unknown := set(turns.kind) - set(_KINDS):
        raise ValueError(f"turns.kind: found {', '.join(sorted(unknown))}, expected one of {', '.join(_KINDS)}")
    return turns


def _rewards(inputs: AdvantageInputs, turns: Turns) -> Floats:
    last = np.append(turns.trajectory[1:] != turns.trajectory[:-1], True)
    if turns.graded is not None:
        graded = np.zeros(len(inputs.reward), np.bool_)
        graded[turns.trajectory[turns.graded]] = True
        last &= ~graded[turns.trajectory]
    return turns.reward + np.where(last, inputs.reward[turns.trajectory], 0.0)


def _keys(inputs: AdvantageInputs, turns: Turns, params: HeavyskillParams) -> Ints:
    return inputs.group[turns.trajectory] if params.group_key == "group" or turns.key is None else turns.key


def _metrics(kind: str, reward: Floats, key: Ints) -> Metrics:
    groups = members(key)
    return {
        f"{kind}_groups": float(len(groups)),
        f"{kind}_zero_variance_groups": float(sum(not varies(reward[places]) for places in groups)),
        f"{kind}_reward": float(reward.sum() / max(1, len(reward))),
    }


METHOD: Method[AdvantageInputs, Estimate] = Method(
    heavyskill, HeavyskillParams, excludes=SEVERAL, kinds=("attempt", "deliberate"))
