"""PPO's clipped objective, arXiv 1707.06347, and clip-higher, arXiv 2503.14476 (DAPO)."""

from typing import TYPE_CHECKING

from pydantic import Field

from hone.algorithms.inputs import LossInputs, bounded_ratio
from hone.algorithms.method import Method, Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor


class ClipParams(Params):
    """The band of ratios with a gradient."""

    low: float = Field(0.2, ge=0, lt=1, description="Ratios below 1 - low stop the gradient of negative advantages.")
    high: float = Field(0.2, ge=0, description="Ratios above 1 + high stop the gradient of positive advantages.")

    def token_band(self) -> tuple[float, float]:
        """Return `low` and `high`."""
        return self.low, self.high


class ClipHigherParams(ClipParams):
    """A wider band above 1, so that unlikely tokens can grow."""

    high: float = Field(0.28, ge=0, description="Ratios above 1 + high stop the gradient of positive advantages.")


def clip(inputs: LossInputs, params: ClipParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """-min(rho A, clip(rho, 1 - low, 1 + high) A)."""
    loss, metrics = clipped(inputs, *bounded_ratio(inputs.log_ratio()), params)
    return loss, state, metrics


def clipped(inputs: LossInputs, ratio: "Tensor", bounded: "Tensor", params: ClipParams) -> "tuple[Tensor, Metrics]":
    """Return -min(r A, clip(r, 1 - low, 1 + high) A), [M], and its metrics.

    r has the value `ratio` [M]. Its gradient by logp is `ratio`, or 0 where `bounded` ([M], or [1] for all) is 1. Both
    arguments are detached.
    """
    free = ratio * inputs.advantage
    least = free.minimum(ratio.clamp(1 - params.low, 1 + params.high).mul_(inputs.advantage))
    stopped, loss = free.sub_(least).sign_(), least.neg_()
    return inputs.carried(loss, loss, stopped.maximum(bounded)), ratio_metrics(ratio, stopped)


def ratio_metrics(ratio: "Tensor", stopped: "Tensor") -> Metrics:
    """Return the mean and largest ratio, and the fraction of tokens whose gradient is stopped."""
    detached = ratio.detach()
    return {
        "ratio_mean": float(detached.mean()),
        "ratio_max": float(detached.amax()),
        "clip_fraction": float(stopped.float().mean()),
    }


PPO_CLIP: "Method[LossInputs, Tensor]" = Method(clip, ClipParams)
CLIP_HIGHER: "Method[LossInputs, Tensor]" = Method(clip, ClipHigherParams)
