"""Losses without a ratio: REINFORCE (1992) and maximum likelihood."""

from typing import TYPE_CHECKING

from hone.algorithms.inputs import LossInputs
from hone.algorithms.method import Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor


def reinforce(inputs: LossInputs, params: Params, state: State) -> "tuple[Tensor, State, Metrics]":
    """-A logp."""
    return -inputs.advantage * inputs.logp, state, {}


def mle(inputs: LossInputs, params: Params, state: State) -> "tuple[Tensor, State, Metrics]":
    """-logp: the negative log-likelihood. The advantage is ignored."""
    return -inputs.logp, state, {}
