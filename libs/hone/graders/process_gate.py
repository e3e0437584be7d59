"""Process gate of V-tableR1, arXiv 2604.20755: rule rewards times the score of the process. The form is Hone's."""

import math
from collections.abc import Sequence
from typing import Literal

from pydantic import ConfigDict, Field

from hone.spec.parameters import Strict

Reduction = Literal["mean", "min", "geometric_mean"]


class Gate(Strict):
    """The form of the gate: a reconstruction, because the paper does not define it."""

    model_config = ConfigDict(strict=True)

    mode: Literal["gate", "threshold", "additive"] = Field(
        "gate", description="Use of T: as factor (gate), as threshold, or as summand (additive).")
    reduction: Reduction = Field("mean", description="T as mean, minimum or geometric mean of the steps' scores.")
    accuracy_weight: float = Field(0.9, ge=0, le=1e6, description="Factor of the accuracy reward.")
    format_weight: float = Field(0.1, ge=0, le=1e6, description="Factor of the format reward.")
    threshold: float = Field(
        0.5, ge=0, le=1, description="tau of mode threshold: the gate is open for T of at least tau.")
    process_weight: float = Field(1.0, ge=0, le=1e6, description="Factor of T in `additive`.")

    @property
    def most(self) -> float:
        """The largest reward."""
        return self.reward(1.0, 1.0, 1.0)

    def reward(self, accuracy: float, form: float, process: float) -> float:
        """R = T (w_acc R_acc + w_fmt R_fmt); T = 1 from tau on (threshold), or added with w_p instead (additive).

        R_acc, R_fmt and T are in [0, 1].
        """
        rules = self.accuracy_weight * accuracy + self.format_weight * form
        if self.mode == "additive":
            return rules + self.process_weight * process
        return rules if self.mode == "threshold" and process >= self.threshold else process * rules


def process_score(steps: Sequence[float], reduction: Reduction) -> float:
    """Return T: mean, min or geometric mean of s_1 ... s_m; 0 for a chain without parsable steps."""
    if not steps:
        return 0.0
    if reduction == "geometric_mean":
        return math.exp(sum(map(math.log, steps)) / len(steps)) if min(steps) > 0 else 0.0
    return min(steps) if reduction == "min" else sum(steps) / len(steps)
