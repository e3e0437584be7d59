"""CISPO, arXiv 2506.13585 (MiniMax-M1); its bound is not published: 5 is from ScaleRL, arXiv 2510.13786."""

from typing import TYPE_CHECKING

from pydantic import Field

from hone.algorithms.inputs import LossInputs
from hone.algorithms.method import Method, Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor


class CispoParams(Params):
    """The bounds of a token's weight. They stop no token's gradient."""

    cap: float = Field(5.0, ge=1, description="1 + eh, the largest weight of a token; a ratio.")
    floor: float = Field(
        0.0, ge=0, le=1, description="1 - el, the smallest weight of a token, a ratio; 0 switches it off.")


def cispo(inputs: LossInputs, params: CispoParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """-sg(clip(rho, floor, cap)) A logp."""
    ratio = inputs.ratio().detach()
    weight = ratio.clamp(params.floor, params.cap)
    return -weight * inputs.advantage * inputs.logp, state, {
        "ratio_mean": float(ratio.mean()),
        "ratio_max": float(ratio.amax()),
        "bounded_fraction": float((weight != ratio).float().mean()),
    }


METHOD: "Method[LossInputs, Tensor]" = Method(cispo, CispoParams)
