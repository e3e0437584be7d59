"""Corrections (S6): weights of the per-token loss, because sampler and trainer score tokens differently."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hone.algorithms.corrections.bypass import bypass
from hone.algorithms.corrections.icepop import Band, icepop
from hone.algorithms.corrections.masked import MaskedParams, masked
from hone.algorithms.corrections.tis import TisParams, tis
from hone.algorithms.inputs import CorrectionInputs
from hone.algorithms.method import Method, Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor


def none(inputs: CorrectionInputs, params: Params, state: State) -> "tuple[Tensor, State, Metrics]":
    """1: sampler and trainer are treated as equal."""
    return inputs.logp_old.new_ones(len(inputs.logp_old)), state, {}


CORRECTIONS: "Mapping[str, Method[CorrectionInputs, Tensor]]" = {
    "none": Method(none),
    "tis": Method(tis, TisParams),
    "icepop": Method(icepop, Band),
    "bypass": Method(bypass, old_policy="sampler"),
    "masked": Method(masked, MaskedParams),
}
