"""Truncated importance sampling (2025), token and sequence form."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hone.algorithms.inputs import MAX_LOG_RATIO, CorrectionInputs
from hone.algorithms.method import Method, Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor


class Weights(Params):
    """The normalisation of a step's weights."""

    normalize: bool = Field(False, description="Divide weights by their mean over the step's trained tokens; costs a "
                            "forward pass over the step before the update.")

    def needs(self) -> frozenset[str]:
        """The trainer's log-probabilities of the whole step, with `normalize`."""
        return frozenset({"logp_old"}) if self.normalize else frozenset()


class TisParams(Weights):
    """The largest weight."""

    level: Literal["token", "sequence"] = Field(
        "token", description="token: weight of each token; sequence: product over the trajectory.")
    cap: float = Field(2.0, gt=0, description="C, the largest weight, a ratio.")


def tis(inputs: CorrectionInputs, params: TisParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """token: min(w_t, C); sequence: min(prod_t w_t, C); w_t = exp(logp_old_t - logp_sample_t).

    With `normalize` weights are divided by their mean over the step.
    """
    ratio = exp(inputs.sums() if params.level == "sequence" else inputs.log_ratio())
    weight = ratio.clamp(max=params.cap) / inputs.mean
    return weight, state, {
        "weight_mean": float(weight.mean()),
        "weight_max": float(weight.max()),
        "truncated_fraction": float((ratio > params.cap).float().mean()),
    }


def exp(log_ratio: "Tensor") -> "Tensor":
    """exp(clamp(log_ratio, -20, 20))."""
    return log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()


METHOD: "Method[CorrectionInputs, Tensor]" = Method(tis, TisParams)
