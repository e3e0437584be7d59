"""IcePop, arXiv 2510.18855."""

from typing import TYPE_CHECKING

from hone.algorithms.corrections.inputs import Band, CorrectionInputs, exp
from hone.algorithms.method import Metrics, State

if TYPE_CHECKING:
    from torch import Tensor


def icepop(inputs: CorrectionInputs, params: Band, state: State) -> "tuple[Tensor, State, Metrics]":
    """w_t if low <= w_t <= high, else 0.

    With `normalize` divided by their mean over the step.
    """
    ratio = exp(inputs.log_ratio())
    kept = (ratio >= params.low) & (ratio <= params.high)
    return ratio * kept / inputs.mean, state, {"popped_fraction": float((~kept).float().mean())}
