"""MemOCR, arXiv 2601.21468: several readings of one memory, and an advantage for each reading."""

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.exclusions import SEVERAL
from hone.algorithms.advantages.statistics import members, varies
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats, Ints
from hone.algorithms.method import Method, Metrics, Params, State
from hone.trajectory.turns import Turns

_TASKS = ("std", "augM", "augQ")
_ROLES = ("draft", *(f"read_{task}" for task in _TASKS))


class MemocrParams(Params):
    """Weights of the reading tasks."""

    w_std: float = Field(1.0, ge=0, description="Weight of the question at the full budget.")
    w_augm: float = Field(0.7, ge=0, description="Weight of the question on the shrunken image.")
    w_augq: float = Field(0.3, ge=0, description="Weight of the question about a detail.")
    weighted_reads: bool = Field(True, description="Multiply a reading's advantage by its task's weight.")

    def needs(self) -> frozenset[str]:
        """Turns of the kinds draft, read_std, read_augM, read_augQ; reward parts std, augM, augQ, NaN where dropped."""
        return frozenset({"turns", "components", "kinds"})

    def weights(self) -> Floats:
        """Return the weights in the order std, augM, augQ."""
        return np.array([self.w_std, self.w_augm, self.w_augq])


def memocr(inputs: AdvantageInputs, params: MemocrParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_gk = r_gk - mean_g r_gk; drafts: sum_k w_k A_gk / sum_k w_k; reading k: w_k A_gk.

    Means and sums leave out dropped readings. A_gk is exactly 0 where a task's rewards are equal in the group or only
    one rollout has it. Raises ValueError without turns or for another kind of turn, KeyError without a component.
    """
    turns = _checked(inputs.turns)
    rewards = np.stack([inputs.components[task] for task in _TASKS], axis=1)
    leaves = _leaves(rewards, inputs.group)
    factor = params.weights() if params.weighted_reads else np.ones(len(_TASKS))
    advantage = np.column_stack([_weighted_mean(leaves, rewards, params.weights()), factor * leaves])
    roles = [_ROLES.index(kind) for kind in turns.kind]
    by_turn = advantage[turns.trajectory, roles]
    return np.repeat(by_turn, turns.tokens), state, _metrics(inputs, rewards, params.weights())


def _checked(turns: Turns | None) -> Turns:
    if turns is None:
        raise ValueError("turns: found none, expected the trajectories' turns")
    if unknown := set(turns.kind) - set(_ROLES):
        raise ValueError(f"turns.kind: found {', '.join(sorted(unknown))}, expected one of {', '.join(_ROLES)}")
    return turns


def _leaves(rewards: Floats, group: Ints) -> Floats:
    """Return A_gk, [B, 3]; 0 where dropped."""
    leaves = np.zeros_like(rewards)
    for rows in members(group):
        for task in range(len(_TASKS)):
            read = rows[np.isfinite(rewards[rows, task])]
            if len(read) > 1 and varies(rewards[read, task]):
                leaves[read, task] = rewards[read, task] - rewards[read, task].mean()
    return leaves


def _weighted_mean(values: Floats, rewards: Floats, weights: Floats) -> Floats:
    """Return the mean over the tasks that were not dropped, [B]; 0 where none has a weight."""
    kept = weights * np.isfinite(rewards)
    total = kept.sum(axis=1)
    mean: Floats = np.divide((kept * values).sum(axis=1), total, out=np.zeros_like(total), where=total > 0)
    return mean


def _metrics(inputs: AdvantageInputs, rewards: Floats, weights: Floats) -> Metrics:
    groups = members(inputs.group)
    combined = _weighted_mean(np.nan_to_num(rewards, nan=0.0), rewards, weights)
    return {
        "groups": float(len(groups)),
        "single_sample_groups": float(sum(len(rows) == 1 for rows in groups)),
        "dropped_readings": float(np.isnan(rewards).sum()),
        "combined_reward": float(combined.mean()),
    }


METHOD: Method[AdvantageInputs, Estimate] = Method(
    memocr, MemocrParams, excludes=SEVERAL, kinds=("draft", "read_std", "read_augM", "read_augQ"))
