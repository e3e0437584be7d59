"""Process gate of V-tableR1, arXiv 2604.20755: rule rewards times a critic's process score. The form is Hone's.

Pure functions of recorded scores: they call no critic.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from hone.algorithms.inputs import Rewards
from hone.algorithms.method import Metrics, Params, State

Reduction = Literal["mean", "min", "geometric_mean"]


@dataclass(frozen=True)
class GateInputs:
    """Samples of a step in order: rule rewards in {0, 1} and the critic's score of each reasoning step in [0, 1]."""

    accuracy: Rewards  # None masks the sample
    format: Rewards  # None masks the sample
    steps: list[Sequence[float] | None]  # None: the critic did not answer or was not called


class GateParams(Params):
    """The form of the gate: a reconstruction, because the paper does not define it."""

    mode: Literal["gate", "threshold", "additive"] = Field(
        "gate", description="Use of T: as factor (gate), as threshold, or as summand (additive).")
    reduction: Reduction = Field("mean", description="T as mean, minimum or geometric mean of the steps' scores.")
    accuracy_weight: float = Field(0.9, ge=0, le=1e6, description="Factor of the accuracy reward.")
    format_weight: float = Field(0.1, ge=0, le=1e6, description="Factor of the format reward.")
    threshold: float = Field(
        0.5, ge=0, le=1, description="tau of mode threshold: the gate is open for T of at least tau.")
    process_weight: float = Field(1.0, ge=0, le=1e6, description="Factor of T in `additive`.")


def process_gate(inputs: GateInputs, params: GateParams, state: State) -> tuple[Rewards, State, Metrics]:
    """R = T (w_acc R_acc + w_fmt R_fmt); T = 1 from tau on (threshold), or added with w_p instead (additive).

    None where a needed critic lacks a score in [0, 1] for some step, for instance after a timeout.
    """
    rewards = [_gated(*sample, params) for sample in zip(inputs.accuracy, inputs.format, inputs.steps, strict=True)]
    scores = [score for steps in inputs.steps if (score := _score(steps, params.reduction)) is not None]
    return rewards, state, {
        "masked_samples": float(sum(reward is None for reward in rewards)),
        "process_score": sum(scores) / max(1, len(scores)),
    }


def process_score(steps: Sequence[float], reduction: Reduction) -> float:
    """Return T: mean, min or geometric mean of s_1 ... s_m; 0 for a chain without parsable steps."""
    if not steps:
        return 0.0
    if reduction == "geometric_mean":
        return math.exp(sum(map(math.log, steps)) / len(steps)) if min(steps) > 0 else 0.0
    return min(steps) if reduction == "min" else sum(steps) / len(steps)


def needs_critic(accuracy: float, form: float, params: GateParams) -> bool:
    """Return whether the reward depends on T. Unless T is added, it does not where both rule rewards are 0."""
    return params.mode == "additive" or bool(_rules(accuracy, form, params))


def _gated(
    accuracy: float | None, form: float | None, steps: Sequence[float] | None, params: GateParams
) -> float | None:
    if accuracy is None or form is None or not math.isfinite(accuracy + form):
        return None
    rules = _rules(accuracy, form, params)
    if not needs_critic(accuracy, form, params):
        return 0.0
    score = _score(steps, params.reduction)
    if score is None:
        return None
    if params.mode == "additive":
        return rules + params.process_weight * score
    return rules if params.mode == "threshold" and score >= params.threshold else score * rules


def _score(steps: Sequence[float] | None, reduction: Reduction) -> float | None:
    if steps is None or not all(0 <= step <= 1 for step in steps):
        return None
    return process_score(steps, reduction)


def _rules(accuracy: float, form: float, params: GateParams) -> float:
    return params.accuracy_weight * accuracy + params.format_weight * form
