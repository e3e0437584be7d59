"""MASPO, arXiv 2602.17550: a one-sided Gaussian trust region that is wider for unlikely tokens."""

import math
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from hone.algorithms.inputs import LossInputs
from hone.algorithms.losses.clip import ratio_metrics
from hone.algorithms.method import Method, Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor

_LEAST_LOGP = -60.0
_DAMPED = 0.5


class MaspoParams(Params):
    """The width of the region, in units of the ratio, and its bounds."""

    sigma_base: float = Field(
        1.0, ge=1e-3, description="Width at p_old = 1, the smallest before the advantage's factor.")
    alpha: float = Field(0.3, ge=0, le=1, description="Exponent of 1 / p_old; 0.5 for small models, 0.8 is unstable.")
    beta_pos: float = Field(0.03, ge=0, description="Widening of the region where A > 0, per unit of |A|.")
    beta_neg: float = Field(0.03, ge=0, description="Narrowing of the region where A < 0, per unit of |A|.")
    sigma_high: float = Field(10.0, ge=1e-3, description="Largest width before the advantage's factor.")
    a_low: float = Field(0.1, ge=1e-3, le=1, description="Smallest factor of the width by the advantage.")
    a_high: float = Field(10.0, ge=1, description="Largest factor of the width by the advantage.")
    width_advantage: Literal["unmodulated", "loss"] = Field(
        "unmodulated", description="|A| that sets the width: before (unmodulated) or after (loss) modulation.")
    dual_clip_c: float | None = Field(
        None, gt=1, description="c: where A < 0 the loss is at most -c A; null: no limit; 10 suits stale data.")

    @model_validator(mode="after")
    def _ordered(self) -> "MaspoParams":
        if self.sigma_base > self.sigma_high:
            raise ValueError(f"expected sigma_base of at most sigma_high ({self.sigma_high})")
        return self


def maspo(inputs: LossInputs, params: MaspoParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """-A sg(w) rho, w = exp(-((rho - 1) / s)^2 / 2) where (A > 0, rho > 1) or (A < 0, rho < 1), else 1.

    s = s_0 clamp(1 + beta_pos |A'|, a_low, a_high) for A > 0, s_0 clamp(1 / (1 + beta_neg |A'|), a_low, a_high) for
    A < 0, with A' as `width_advantage` says; s_0 = clamp(sigma_base / p_old^alpha, sigma_base, sigma_high).
    With dual_clip_c the loss of A < 0 is min(-c A, -A sg(w) rho).
    """
    ratio, advantage = inputs.ratio(), inputs.advantage
    held, base = ratio.detach(), _base(inputs.logp_old, params)
    rising, falling = (advantage > 0) & (held > 1), (advantage < 0) & (held < 1)
    gauss = (-((held - 1) / (base * _risk(inputs, params))).square() / 2).exp()
    gate = gauss.where(rising | falling, gauss.new_ones(()))
    metrics = _gate_metrics(gate, rising, falling) | _base_metrics(base, params)
    ceiling = math.inf if params.dual_clip_c is None else params.dual_clip_c
    pushed = ratio.clamp(max=ceiling).where(advantage < 0, ratio)
    metrics |= ratio_metrics(ratio, (advantage < 0) & (held > ceiling))
    return -advantage * gate * pushed, state, metrics


def _base(logp_old: "Tensor", params: MaspoParams) -> "Tensor":
    width = params.sigma_base * (-params.alpha * logp_old.detach().clamp(min=_LEAST_LOGP)).exp()
    return width.clamp(params.sigma_base, params.sigma_high)


def _risk(inputs: LossInputs, params: MaspoParams) -> "Tensor":
    chosen = inputs.unmodulated if params.width_advantage == "unmodulated" else None
    size = (inputs.advantage if chosen is None else chosen).abs()
    wide, narrow = 1 + params.beta_pos * size, 1 / (1 + params.beta_neg * size)
    return wide.where(inputs.advantage > 0, narrow).clamp(params.a_low, params.a_high)


def _gate_metrics(gate: "Tensor", rising: "Tensor", falling: "Tensor") -> Metrics:
    """Return the mean gate of each quadrant that has tokens, and the fraction of damped tokens."""
    means = {name: float(gate[where].mean()) for name, where in (
        ("gate_positive", rising), ("gate_negative", falling)) if where.any()}
    return {**means, "damped_fraction": float((gate < _DAMPED).float().mean())}


def _base_metrics(base: "Tensor", params: MaspoParams) -> Metrics:
    return {
        "width_mean": float(base.mean()),
        "widest_fraction": float((base >= params.sigma_high).float().mean()),
    }


METHOD: "Method[LossInputs, Tensor]" = Method(maspo, MaspoParams)
