"""Masked importance sampling: trajectories with a ratio outside the band are left out."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hone.algorithms.corrections.icepop import Band
from hone.algorithms.corrections.tis import exp
from hone.algorithms.inputs import CorrectionInputs
from hone.algorithms.method import Method, Metrics, State

if TYPE_CHECKING:
    from torch import Tensor


class MaskedParams(Band):
    """The band of trusted ratios, and the ratio of a trajectory."""

    ratio: Literal["mean", "product"] = Field(
        "mean", description="Ratio of a trajectory: geometric mean or product of its tokens' ratios.")


def masked(inputs: CorrectionInputs, params: MaskedParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """1 if low <= s <= high, else 0; s the geometric mean (or product) of the trajectory's w_t.

    With `normalize` weights are divided by their mean over the step.
    """
    ratio = exp(inputs.means() if params.ratio == "mean" else inputs.sums())
    kept = ((ratio >= params.low) & (ratio <= params.high)).float()
    return kept / inputs.mean, state, {"masked_fraction": float(1 - kept.mean())}


METHOD: "Method[CorrectionInputs, Tensor]" = Method(masked, MaskedParams)
