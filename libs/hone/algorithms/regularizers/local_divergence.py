"""Distance to the teacher on its K likeliest ids: AOPD's imitation, arXiv 2605.06387 (reconstruction).

On all tokens the same distance is the soft form of context distillation, arXiv 2606.04703 (reconstruction).
"""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hone.algorithms.inputs import RegularizerInputs, Support
from hone.algorithms.method import Method, Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor

_FLOOR = -60.0
_FINITE = -1e30
_NO_REST = 1e-6


class ContextDistillationParams(Params):
    """The weight of the distance."""

    coefficient: float = Field(1.0, ge=0, description="Factor of the term; 0 switches it off.")

    def needs(self) -> frozenset[str]:
        """Both distributions on the teacher's likeliest ids, unless switched off."""
        return frozenset({"support"}) if self.coefficient else frozenset()


class LocalDivergenceParams(ContextDistillationParams):
    """The imitated tokens, and the measure of the distance."""

    kappa: float | None = Field(
        None, ge=-1000, le=1000, description="Tokens with at most this log-ratio are imitated, in nats; null: those "
        "that the advantage does not reinforce (aopd), or 0 beside an advantage that reinforces all.")
    mode: Literal["tail_bucket", "truncated", "renorm"] = Field(
        "tail_bucket", description="All other ids: merged into one, left out, or left out with both sides "
        "renormalised.")
    direction: Literal["forward", "reverse"] = Field(
        "forward", description="forward: KL weighted by the teacher; reverse: by the student.")

    def needs(self) -> frozenset[str]:
        """Also both policies' log-probabilities of the sampled token, unless switched off."""
        return super().needs() | {"logp_old", "logp_teacher"} if self.coefficient else frozenset()


def local_divergence(
    inputs: RegularizerInputs, params: LocalDivergenceParams, state: State
) -> "tuple[Tensor, State, Metrics]":
    """coefficient * D_t on imitated tokens, else 0; D as in `divergence`.

    Imitated are the tokens that the advantage leaves; where it names none, those with logp_teacher_t - logp_old_t <=
    kappa. Raises ValueError without support, logp_old or logp_teacher.
    """
    imitated = _split(inputs, params.kappa or 0.0) if inputs.imitated is None else inputs.imitated
    distance = divergence(_support(inputs), params.mode, params.direction)
    term, metrics = _applied(params.coefficient * distance, imitated, inputs.known)
    return term, state, metrics


def context_distillation(
    inputs: RegularizerInputs, params: ContextDistillationParams, state: State
) -> "tuple[Tensor, State, Metrics]":
    """coefficient * D_t, D forward with the other ids merged into one. Raises ValueError without support."""
    distance = divergence(_support(inputs), "tail_bucket", "forward")
    term, metrics = _applied(params.coefficient * distance, distance.detach().isfinite(), inputs.known)
    return term, state, metrics


def divergence(support: Support, mode: str, direction: str) -> "Tensor":
    """D = sum_{v in S} p_T ln(p_T / p_S) [+ (1 - M) ln((1 - M) / (1 - m_S))], [M] nats; reverse swaps T and S.

    tail_bucket has the second part, unless 1 - M < 1e-6 or S is the whole vocabulary; renorm divides p_T by M and p_S
    by m_S. Logarithms are read as at least -60 without changing the gradient, which flows through the student only.
    """
    teacher, student = support.teacher.detach().clamp(min=_FINITE), support.student.clamp(min=_FINITE)
    if mode == "renorm":
        teacher, student = teacher.log_softmax(-1), student.log_softmax(-1)
    inside = _weighted(teacher, student, direction).sum(-1)
    return inside + _rest(support, direction) if mode == "tail_bucket" else inside


def _rest(support: Support, direction: str) -> "Tensor":
    mass = 1 - support.teacher.detach().exp().sum(-1)
    dropped = (mass < _NO_REST) | support.rest.isneginf()
    return _weighted(mass.masked_fill(dropped, 1.0).log(), support.rest.masked_fill(dropped, 0.0), direction)


def _weighted(teacher: "Tensor", student: "Tensor", direction: str) -> "Tensor":
    gap = teacher.clamp(min=_FLOOR) - _floored(student)
    return teacher.exp() * gap if direction == "forward" else student.exp() * -gap


def _floored(logp: "Tensor") -> "Tensor":
    # The difference is 0 and has gradient 1: the floor limits the value and keeps the slope.
    return logp.detach().clamp(min=_FLOOR) + (logp - logp.detach())


def _support(inputs: RegularizerInputs) -> Support:
    if inputs.support is None:
        raise ValueError("support: found none, expected both distributions on the teacher's likeliest ids")
    return inputs.support


def _split(inputs: RegularizerInputs, kappa: float) -> "Tensor":
    if inputs.logp_old is None or inputs.logp_teacher is None:
        raise ValueError("logp_old, logp_teacher: found none, expected both policies' log-probabilities")
    return inputs.logp_teacher - inputs.logp_old <= kappa


def _applied(term: "Tensor", chosen: "Tensor", known: "Tensor | None") -> "tuple[Tensor, Metrics]":
    chosen = chosen if known is None else chosen & known
    term = term.masked_fill(~chosen, 0.0)
    return term, {"mean": float(term.detach().mean()), "imitated_fraction": float(chosen.float().mean())}


LOCAL_DIVERGENCE: "Method[RegularizerInputs, Tensor]" = Method(local_divergence, LocalDivergenceParams)
CONTEXT_DISTILLATION: "Method[RegularizerInputs, Tensor]" = Method(context_distillation, ContextDistillationParams)
