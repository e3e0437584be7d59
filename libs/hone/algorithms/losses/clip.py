"""PPO's clipped objective, arXiv 1707.06347, and clip-higher, arXiv 2503.14476 (DAPO)."""

from typing import TYPE_CHECKING

from pydantic import Field

from hone.algorithms.losses.inputs import LossInputs
from hone.algorithms.method import Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor


class ClipParams(Params):
    """The band in which the ratio may move the loss."""

    low: float = Field(0.2, ge=0, lt=1, description="Ratios below 1 - low stop the gradient of negative advantages.")
    high: float = Field(0.2, ge=0, description="Ratios above 1 + high stop the gradient of positive advantages.")

    def token_band(self) -> tuple[float, float]:
        """Return how far below and above 1 a token's own ratio may move."""
        return self.low, self.high


class ClipHigherParams(ClipParams):
    """More room upwards, so that unlikely tokens can grow."""

    high: float = Field(0.28, ge=0, description="Ratios above 1 + high stop the gradient of positive advantages.")


def clip(inputs: LossInputs, params: ClipParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """-min(rho A, clip(rho, 1 - low, 1 + high) A)."""
    ratio = inputs.ratio()
    free = ratio * inputs.advantage
    clipped = ratio.clamp(1 - params.low, 1 + params.high) * inputs.advantage
    return -free.minimum(clipped), state, ratio_metrics(ratio, clipped < free)


def ratio_metrics(ratio: "Tensor", clipped: "Tensor") -> Metrics:
    """Mean and largest ratio, and the fraction of tokens whose gradient is stopped."""
    detached = ratio.detach()
    return {
        "ratio_mean": float(detached.mean()),
        "ratio_max": float(detached.max()),
        "clip_fraction": float(clipped.float().mean()),
    }
