"""Bypass mode: the policy loss's own ratio is the correction."""

from typing import TYPE_CHECKING, ClassVar, Literal

from hone.algorithms.corrections.inputs import CorrectionInputs
from hone.algorithms.method import Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor


class BypassParams(Params):
    """logp_old := logp_sample, for losses and for what regularizes."""

    old_policy: ClassVar[Literal["trainer", "sampler"]] = "sampler"


def bypass(inputs: CorrectionInputs, params: BypassParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """1: the ratio pi / pi_old of the loss compares with the sampler already."""
    return inputs.logp_old.new_ones(len(inputs.logp_old)), state, {}
