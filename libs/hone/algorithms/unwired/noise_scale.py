"""The gradient noise scale: a metric, and a fallback trigger of the late switch, arXiv 2602.14208."""

import math
from dataclasses import dataclass

from pydantic import Field

from hone.algorithms.method import Metrics, Params, State


@dataclass(frozen=True)
class GradientNorms:
    """Squared norms of the mean gradient over b and over B > b rows, and the run's progress."""

    small: int  # b, rows
    large: int  # B, rows
    small_square: float  # |g_b|^2
    large_square: float  # |g_B|^2
    batch: int  # B_1, rows of the optimizer steps before the switch
    remaining: int  # rows of the budget that are not consumed
    tail: float  # planned D - P*, rows


class NoiseScaleParams(Params):
    """The noise at which the switch is proposed."""

    factor: float = Field(4.0, gt=0, description="B_simple is large above this many times B_1.")


def noise_scale(inputs: GradientNorms, params: NoiseScaleParams, state: State) -> tuple[bool, State, Metrics]:
    """Propose the switch when B_simple > factor B_1 and the remaining budget is below D - P*.

    B_simple = tr / |g|^2, |g|^2 = (B |g_B|^2 - b |g_b|^2) / (B - b), tr = (|g_b|^2 - |g_B|^2) / (1/b - 1/B).
    Where |g|^2 <= 0 it is undefined: there is no proposal and no metric `rows`. Raises ValueError unless 1 <= b < B.
    """
    b, big = inputs.small, inputs.large
    if not 1 <= b < big:
        raise ValueError(f"small: found {b}, expected 1 to large - 1 ({big - 1})")
    signal = (big * inputs.large_square - b * inputs.small_square) / (big - b)
    trace = (inputs.small_square - inputs.large_square) / (1 / b - 1 / big)
    metrics = {"gradient_square": signal, "trace": trace}
    rows = trace / signal if signal > 0 else math.inf
    if not math.isfinite(rows):
        return False, state, metrics
    return rows > params.factor * inputs.batch and inputs.remaining < inputs.tail, state, {**metrics, "rows": rows}
