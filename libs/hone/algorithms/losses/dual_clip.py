"""Dual clip, arXiv 1912.09729."""

from typing import TYPE_CHECKING

from pydantic import Field

from hone.algorithms.inputs import LossInputs
from hone.algorithms.losses.clip import ClipParams, ratio_metrics
from hone.algorithms.method import Method, Metrics, State

if TYPE_CHECKING:
    from torch import Tensor


class DualClipParams(ClipParams):
    """The band, and a floor of the objective for negative advantages."""

    floor: float = Field(3.0, gt=1, description="c: the objective of a negative advantage A is at least c A.")


def dual_clip(inputs: LossInputs, params: DualClipParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """L = -min(rho A, clip(rho, 1 - low, 1 + high) A); for A < 0: min(-c A, L)."""
    ratio, advantage = inputs.ratio(), inputs.advantage
    free = ratio * advantage
    clipped = ratio.clamp(1 - params.low, 1 + params.high) * advantage
    loss, ceiling = -free.minimum(clipped), -params.floor * advantage
    stopped = (clipped < free) | ((advantage < 0) & (ratio > params.floor))
    return loss.minimum(ceiling).where(advantage < 0, loss), state, ratio_metrics(ratio, stopped)


METHOD: "Method[LossInputs, Tensor]" = Method(dual_clip, DualClipParams)
