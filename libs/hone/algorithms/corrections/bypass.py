"""Bypass mode: losses take the sampler's log-probabilities for the old policy's, so their ratio is the correction."""

from typing import TYPE_CHECKING

from hone.algorithms.inputs import CorrectionInputs
from hone.algorithms.method import Method, Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor


def bypass(inputs: CorrectionInputs, params: Params, state: State) -> "tuple[Tensor, State, Metrics]":
    """1: the loss's own ratio already compares with the sampler."""
    return inputs.logp_old.new_ones(len(inputs.logp_old)), state, {}


METHOD: "Method[CorrectionInputs, Tensor]" = Method(bypass, old_policy="sampler")
