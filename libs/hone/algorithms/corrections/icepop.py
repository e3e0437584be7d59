"""IcePop, arXiv 2510.18855."""

from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from hone.algorithms.corrections.tis import Weights, exp
from hone.algorithms.inputs import CorrectionInputs
from hone.algorithms.method import Method, Metrics, State

if TYPE_CHECKING:
    from torch import Tensor


class Band(Weights):
    """The band of trusted ratios."""

    low: float = Field(0.5, ge=0, description="Smallest ratio kept.")
    high: float = Field(5.0, gt=0, description="Largest ratio kept.")

    @model_validator(mode="after")
    def _ordered(self) -> "Band":
        if self.low > self.high:
            raise ValueError(f"expected low of at most high ({self.high})")
        return self


def icepop(inputs: CorrectionInputs, params: Band, state: State) -> "tuple[Tensor, State, Metrics]":
    """w_t if low <= w_t <= high, else 0.

    With `normalize` weights are divided by their mean over the step.
    """
    ratio = exp(inputs.log_ratio())
    kept = (ratio >= params.low) & (ratio <= params.high)
    return ratio * kept / inputs.mean, state, {"popped_fraction": float((~kept).float().mean())}


METHOD: "Method[CorrectionInputs, Tensor]" = Method(icepop, Band)
