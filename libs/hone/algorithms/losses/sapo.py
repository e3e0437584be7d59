"""SAPO, arXiv 2511.20347: a sigmoid in place of the clip. Meant for the aggregation `seq-mean-token-mean`."""

from typing import TYPE_CHECKING

from pydantic import Field

from hone.algorithms.losses.inputs import LossInputs
from hone.algorithms.method import Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor


class SapoParams(Params):
    """How fast the gradient fades as the ratio leaves 1."""

    tau_pos: float = Field(1.0, ge=1e-3, description="Temperature where A > 0, per unit of the ratio.")
    tau_neg: float = Field(1.05, ge=1e-3, description="Temperature elsewhere, per unit of the ratio.")


def sapo(inputs: LossInputs, params: SapoParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """-(4 / tau) sigmoid(tau (rho - 1)) A, tau = tau_pos if A > 0 else tau_neg.

    With s the sigmoid, a token's gradient is -rho A * gate, gate = 4 s (1 - s).
    """
    ratio, advantage = inputs.ratio(), inputs.advantage
    tau = advantage.new_full(advantage.shape, params.tau_neg).masked_fill(advantage > 0, params.tau_pos)
    soft = (tau * (ratio - 1)).sigmoid()
    gate = (4 * soft * (1 - soft)).detach()
    return -(4 / tau) * soft * advantage, state, {
        "ratio_mean": float(ratio.detach().mean()),
        "ratio_max": float(ratio.detach().max()),
        "gate_mean": float(gate.mean()),
    }
