"""SDAR, arXiv 2605.15155: raises sampled tokens that the policy with privileged text finds likelier."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hone.algorithms.inputs import RegularizerInputs
from hone.algorithms.method import Method, Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor

_FLOOR = -60.0


class SdarParams(Params):
    """The weight of the term, and the gate."""

    coefficient: float = Field(0.01, ge=0, description="lambda, factor of the term; 0 switches it off.")
    beta: float = Field(5.0, ge=0, le=1e4, description="Steepness of the gate, per nat; 0: 1/2 everywhere.")
    gate: Literal["gap", "entropy", "soft_or"] = Field(
        "gap", description="Opens the gate: the log-ratio, the entropy, or either.")
    neg_coef: float = Field(0.0, ge=0, description="Factor of the push downwards where the gate is closed.")

    def needs(self) -> frozenset[str]:
        """The teacher's log-probabilities and, for two of the gates, the entropy, unless switched off."""
        if not self.coefficient:
            return frozenset()
        return frozenset({"logp_teacher"}) if self.gate == "gap" else frozenset({"logp_teacher", "entropy"})


def sdar(inputs: RegularizerInputs, params: SdarParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """coefficient * sg(g_t - neg_coef (1 - g_t)) (logp_teacher_t - logp_t) where known, else 0.

    gap: g = sigmoid(beta D), D = logp_teacher - sg(logp); entropy: g = sigmoid(beta h); soft_or: g = sigmoid(beta (1 -
    (1 - h)(1 - D))). A logp_teacher below -60 nats is read as -60. Raises ValueError without logp_teacher or entropy.
    """
    if inputs.logp_teacher is None:
        raise ValueError("logp_teacher: found none, expected the log-probabilities of the policy with privileged text")
    gap = inputs.logp_teacher.detach().clamp(min=_FLOOR) - inputs.logp
    gate = (params.beta * _score(gap.detach(), inputs.entropy, params.gate)).sigmoid()
    term = params.coefficient * (gate - params.neg_coef * (1 - gate)) * gap
    known = gap.detach().isfinite() if inputs.known is None else inputs.known
    return term.masked_fill(~known, 0.0), state, {
        "gate": float(gate[known].mean()) if known.any() else 0.0,
        "endorsed_fraction": float((known & (gate > 0.5)).float().mean()),
        "gap": float(gap.detach()[known].mean()) if known.any() else 0.0,
        "known_fraction": float(known.float().mean()),
    }


def _score(gap: "Tensor", entropy: "Tensor | None", gate: str) -> "Tensor":
    if gate == "gap":
        return gap
    if entropy is None:
        raise ValueError(f"entropy: found none, expected the policy's, for the gate {gate!r}")
    uncertain = entropy.detach()
    return uncertain if gate == "entropy" else 1 - (1 - uncertain) * (1 - gap)


METHOD: "Method[RegularizerInputs, Tensor]" = Method(sdar, SdarParams)
