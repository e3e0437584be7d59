"""Asymmetric on-policy distillation (AOPD), arXiv 2605.06387 (reconstruction): the reinforced tokens.

All other tokens have the advantage 0. On them the regularizer `local_divergence` imitates the teacher.
"""

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.grpo import GrpoParams, grpo
from hone.algorithms.advantages.opd import TeacherParams, logprobs
from hone.algorithms.inputs import AdvantageInputs, Estimate, Flags, Floats
from hone.algorithms.method import Method, Metrics, State


class AopdParams(TeacherParams):
    """The border between reinforced and imitated tokens."""

    kappa: float = Field(0.0, ge=-1000, le=1000, description="Tokens with a larger log-ratio are reinforced, in nats.")
    cap: float | None = Field(
        5.0, gt=0, description="A_max, largest advantage of a reinforced token, in nats; null: no limit.")
    mix_outcome: bool = Field(False, description="Add GRPO's advantage before the split.")
    outcome_weight: float = Field(1.0, ge=0, description="a, factor of that advantage.")


def aopd(inputs: AdvantageInputs, params: AopdParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_t = min(D_t, cap) where D_t > kappa, else 0; D_t = logp_teacher_t - logp_old_t [+ outcome_weight GRPO_t].

    A token with teacher probability 0 has D = -inf and A = 0. Raises ValueError without either log-probability.
    """
    gap = _gap(inputs, params)
    reinforced = gap > params.kappa
    advantage = np.where(reinforced, np.minimum(gap, np.inf if params.cap is None else params.cap), 0.0)
    return advantage, state, {
        "reinforced_fraction": float(reinforced.mean()),
        "reinforced_mean": float(advantage.sum() / max(1, reinforced.sum())),
        "gap_min": float(gap.min(where=np.isfinite(gap), initial=0.0)),
    }


def imitated(inputs: AdvantageInputs, params: AopdParams) -> Flags:
    """Return D_t <= kappa, [M]: each token is either reinforced or imitated, in all updates of a step."""
    found: Flags = _gap(inputs, params) <= params.kappa
    return found


def _gap(inputs: AdvantageInputs, params: AopdParams) -> Floats:
    teacher, old = logprobs(inputs)
    if not params.mix_outcome:
        return teacher - old
    return teacher - old + params.outcome_weight * grpo(inputs, GrpoParams(), {})[0]


METHOD: Method[AdvantageInputs, Estimate] = Method(aopd, AopdParams, imitated=imitated)
