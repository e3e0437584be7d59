"""GSPO, arXiv 2507.18071; a sequence is a trajectory. Meant for the aggregation `seq-mean-token-mean`."""

import math
from typing import TYPE_CHECKING

from pydantic import Field

from hone.algorithms.inputs import LossInputs, bounded_ratio
from hone.algorithms.losses.clip import ClipParams, clipped
from hone.algorithms.method import Method, Metrics, State

if TYPE_CHECKING:
    from torch import Tensor


class GspoParams(ClipParams):
    """The band of a sequence's ratio. It is narrow, because a mean over many tokens changes little."""

    low: float = Field(3e-4, ge=0, lt=1, description="Ratios below 1 - low stop the gradient of negative advantages.")
    high: float = Field(4e-4, ge=0, description="Ratios above 1 + high stop the gradient of positive advantages.")

    def token_band(self) -> tuple[float, float]:
        """Return no bounds: the band limits the sequence's ratio."""
        return 1.0, math.inf


def gspo(inputs: LossInputs, params: GspoParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """-min(s A, clip(s, 1 - low, 1 + high) A), s = sg(s_i) exp(logp - sg(logp)).

    s_i = exp(clamp(mean over the trajectory of logp - logp_old, -20, 20)). The inputs have to hold every token
    of a trajectory. A token's gradient is -s_i A inside the band; the mean over the trajectory supplies 1 / tokens.
    """
    ratio, bounded = bounded_ratio(inputs.trajectory_means(inputs.log_ratio()))
    stopped = inputs.at_tokens(bounded) if bounded.any() else bounded[:1]  # rare: usually skipped
    loss, metrics = clipped(inputs, inputs.at_tokens(ratio), stopped, params)
    return loss, state, metrics


METHOD: "Method[LossInputs, Tensor]" = Method(gspo, GspoParams)
