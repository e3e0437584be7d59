"""Corrections (S6): weights of the per-token loss, because sampler and trainer score tokens differently."""

from typing import TYPE_CHECKING

from hone.algorithms.inputs import CorrectionInputs
from hone.algorithms.method import Method, Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor


def none(inputs: CorrectionInputs, params: Params, state: State) -> "tuple[Tensor, State, Metrics]":
    """1: sampler and trainer are treated as equal."""
    return inputs.logp_old.new_ones(len(inputs.logp_old)), state, {}


METHOD: "Method[CorrectionInputs, Tensor]" = Method(none)
