"""SAPO, arXiv 2511.20347: a sigmoid instead of the clip. Meant for the aggregation `seq-mean-token-mean`."""

from typing import TYPE_CHECKING

from pydantic import Field

from hone.algorithms.inputs import LossInputs, bounded_ratio
from hone.algorithms.method import Method, Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor


class SapoParams(Params):
    """The speed at which the gradient fades with the ratio's distance from 1."""

    tau_pos: float = Field(1.0, ge=1e-3, description="Temperature where A > 0, per unit of the ratio.")
    tau_neg: float = Field(1.05, ge=1e-3, description="Temperature elsewhere, per unit of the ratio.")


def sapo(inputs: LossInputs, params: SapoParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """-(4 / tau) sigmoid(tau (rho - 1)) A, tau = tau_pos if A > 0 else tau_neg.

    With s the sigmoid, a token's gradient is -rho A * gate, gate = 4 s (1 - s).
    """
    advantage = inputs.advantage
    ratio, bounded = bounded_ratio(inputs.log_ratio())
    tau = advantage.sign().clamp_(min=0).mul_(params.tau_pos - params.tau_neg).add_(params.tau_neg)
    soft = (ratio - 1).mul_(tau).sigmoid_()
    gate = (1 - soft).mul_(soft).mul_(4)
    metrics = {"ratio_mean": float(ratio.mean()), "ratio_max": float(ratio.amax()), "gate_mean": float(gate.mean())}
    loss = (-4 / tau).mul_(soft).mul_(advantage)
    return inputs.carried(loss, -gate.mul_(ratio).mul_(advantage), bounded), state, metrics


METHOD: "Method[LossInputs, Tensor]" = Method(sapo, SapoParams)
