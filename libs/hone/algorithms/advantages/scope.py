"""SCOPE, arXiv 2604.10688: correct trajectories teach themselves, wrong ones follow the teacher."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from hone.algorithms.advantages.opd import OpdParams, logprobs
from hone.algorithms.advantages.statistics import broadcast, members
from hone.algorithms.inputs import AdvantageInputs, Estimate, Flags, Floats, Ints, Track
from hone.algorithms.method import Method, Metrics, State

_LOWEST_MEAN = -8.0
_IN_LOSS: Mapping[str, Literal["teacher_k3", "teacher_kl"]] = {"in_loss": "teacher_k3", "in_loss_top_k": "teacher_kl"}


class ScopeParams(OpdParams):
    """Weights of the trajectories of each path, and the form of the teacher path."""

    tau: float = Field(
        1.0, ge=1e-3, le=1e6, description="Temperature of both paths' weights; with a large one all weights are 1.")
    threshold: float = Field(0.0, ge=-1e6, le=1e6, description="Trajectories with a larger reward are correct, unless "
        "they were cut off.")
    student_sign: Literal[1, -1] = Field(1, description="1: less confident correct trajectories have more weight.")
    teacher_sign: Literal[1, -1] = Field(
        1, description="1: wrong trajectories that surprise the teacher less have more weight.")
    teacher_path: Literal["in_advantage", "in_loss", "in_loss_top_k"] = Field(
        "in_advantage", description="The log-ratio as advantage; or as loss: k3, or the KL on the teacher's likeliest "
        "ids.")
    legacy_denominator: bool = Field(
        False, description="Average the teacher path over all tokens instead of wrong trajectories' tokens; with "
        "in_advantage only.")

    @field_validator("legacy_denominator")
    @classmethod
    def _in_advantage(cls, legacy: bool, info: ValidationInfo) -> bool:
        if legacy and info.data.get("teacher_path") in _IN_LOSS:
            raise ValueError(f"expected false with teacher_path {info.data['teacher_path']}")
        return legacy

    def needs(self) -> frozenset[str]:
        """Both policies' log-probabilities; for in_loss_top_k also on the teacher's likeliest ids."""
        return super().needs() | ({"support"} if self.teacher_path == "in_loss_top_k" else set())


def scope(inputs: AdvantageInputs, params: ScopeParams, state: State) -> tuple[list[Track], State, Metrics]:
    """Student path, on correct i: loss -W_i logp. Teacher path, on wrong i: A = Q_i (logp_teacher - logp_old).

    Or, in_loss: loss Q_i k3(logp, logp_teacher); in_loss_top_k: Q_i times the reverse KL on the teacher's likeliest ids
    (`losses.teacher`).

    A trajectory that was cut off is wrong, whatever its reward.

    W_i = |set| softmax(-student_sign mean logp_old_i / tau) over the group's correct trajectories; Q_i = |set|
    softmax(teacher_sign mean logp_teacher_i / tau) over its wrong ones; means of at least -8 nats. The advantage reads
    logp_teacher of at least `floor`. Raises ValueError without a log-probability.
    """
    teacher, old = logprobs(inputs)
    correct = inputs.reward > params.threshold
    if inputs.truncated is not None:
        correct &= ~inputs.truncated
    weights = _weights(inputs, params, correct)
    own: Flags = np.repeat(correct, inputs.tokens)
    taught = ~own
    weight = broadcast(weights, inputs.tokens)
    gap = np.maximum(teacher, params.floor) - old if params.teacher_path == "in_advantage" else 1.0
    counts = np.ones_like(taught) if params.legacy_denominator else taught
    return [
        Track("student_path", np.where(own, weight, 0.0), own, loss="reinforce"),
        Track("teacher_path", np.where(taught, weight * gap, 0.0), counts,
              loss=_IN_LOSS.get(params.teacher_path, "policy")),
    ], state, _metrics(inputs.group, weights, correct)


def _weights(inputs: AdvantageInputs, params: ScopeParams, correct: Flags) -> Floats:
    teacher, old = logprobs(inputs)
    student = -params.student_sign * _means(old, inputs.tokens)
    signed = np.where(correct, student, params.teacher_sign * _means(teacher, inputs.tokens))
    weights = np.zeros_like(inputs.reward)
    for rows in _sets(inputs.group, correct):
        weights[rows] = len(rows) * _softmax(signed[rows] / params.tau)
    return weights


def _means(logp: Floats, tokens: Ints) -> Floats:
    means: Floats = np.add.reduceat(logp, np.cumsum(tokens) - tokens) / tokens
    return np.maximum(means, _LOWEST_MEAN)


def _sets(group: Ints, correct: Flags) -> list[Ints]:
    halves = [rows[correct[rows] == outcome] for rows in members(group) for outcome in (True, False)]
    return [rows for rows in halves if len(rows)]


def _softmax(values: Floats) -> Floats:
    powers = np.exp(values - values.max())
    weights: Floats = powers / powers.sum()
    return weights


def _metrics(group: Ints, weights: Floats, correct: Flags) -> Metrics:
    effective = [len(rows) ** 2 / float((weights[rows] ** 2).sum()) for rows in _sets(group, correct)]
    return {
        "correct_fraction": float(correct.mean()),
        "student_weight_max": float(weights.max(where=correct, initial=0.0)),
        "teacher_weight_max": float(weights.max(where=~correct, initial=0.0)),
        "effective_set_size": sum(effective) / len(effective),
    }


METHOD: Method[AdvantageInputs, Estimate] = Method(scope, ScopeParams)
