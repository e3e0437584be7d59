"""The KL divergence from the frozen reference, by one of four estimators."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hone.algorithms.inputs import RegularizerInputs
from hone.algorithms.method import Method, Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor

_MAX_LOG_RATIO = 20.0
_MAX_K3 = 10.0


class KlParams(Params):
    """The KL term and its estimator."""

    coefficient: float = Field(0.0, ge=0, description="Factor of the term; 0 switches it off.")
    estimator: Literal["k1", "k2", "k3", "k3+"] = Field(
        "k3", description="Estimator of the divergence; k3+ has the value of k3 and the gradient of k2.")

    def needs(self) -> frozenset[str]:
        """The reference's log-probabilities, unless switched off."""
        return frozenset({"logp_ref"}) if self.coefficient else frozenset()


def kl(inputs: RegularizerInputs, params: KlParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """coefficient * k with d = clamp(logp_ref - logp, -20, 20).

    k1 = -d; k2 = d^2 / 2; k3 = clamp(e^d - 1 - d, -10, 10). No gradient flows where a clamp is active.
    Raises ValueError without logp_ref.
    """
    if inputs.logp_ref is None:
        raise ValueError("logp_ref: found none, expected the reference's log-probabilities")
    d = (inputs.logp_ref - inputs.logp).clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO)
    estimate = estimate_kl(d, params.estimator)
    return params.coefficient * estimate, state, {"mean": float(estimate.detach().mean())}


def estimate_kl(d: "Tensor", estimator: str) -> "Tensor":
    """Return k1, k2, k3 or k3+ of the clamped d, [M]."""
    if estimator == "k1":
        return -d
    half_square = d.square() / 2
    if estimator == "k2":
        return half_square
    k3 = (d.exp() - 1 - d).clamp(-_MAX_K3, _MAX_K3)
    return k3 if estimator == "k3" else half_square + (k3 - half_square).detach()


METHOD: "Method[RegularizerInputs, Tensor]" = Method(kl, KlParams)
