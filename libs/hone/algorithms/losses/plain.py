"""Losses without a ratio: REINFORCE (1992) and maximum likelihood."""

from typing import TYPE_CHECKING

from hone.algorithms.inputs import LossInputs
from hone.algorithms.method import Method, Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor


def reinforce(inputs: LossInputs, params: Params, state: State) -> "tuple[Tensor, State, Metrics]":
    """-A logp."""
    return -inputs.advantage * inputs.logp, state, {}


def mle(inputs: LossInputs, params: Params, state: State) -> "tuple[Tensor, State, Metrics]":
    """-logp: the negative log-likelihood. The advantage is ignored."""
    return -inputs.logp, state, {}


REINFORCE: "Method[LossInputs, Tensor]" = Method(reinforce)
MLE: "Method[LossInputs, Tensor]" = Method(mle, reads_advantage=False, excludes={
    ("modulation", name): "which changes advantages that mle does not read"
    for name in ("dynamo", "step_credit", "sdar", "rlsd")})
