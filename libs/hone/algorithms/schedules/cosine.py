"""Half a cosine from the peak to a floor."""

import math

from pydantic import Field

from hone.algorithms.inputs import Progress
from hone.algorithms.method import Method, Metrics, State
from hone.algorithms.schedules.constant import Warmup


class CosineParams(Warmup):
    """The warm-up and the end of the curve."""

    floor: float = Field(0.0, ge=0, le=1, description="Factor that the curve approaches after the last step.")


def cosine(inputs: Progress, params: CosineParams, state: State) -> tuple[float, State, Metrics]:
    """Rise, then floor + (1 - floor) (1 + cos(pi x)) / 2 with x = (n - 1 - warmup) / (steps - warmup)."""
    after = max(0, inputs.n - 1 - params.warmup_steps) / max(1, inputs.steps - params.warmup_steps)
    factor = params.floor + (1 - params.floor) * (1 + math.cos(math.pi * min(1.0, after))) / 2
    return params.rise(inputs.n) * factor, state, {}


METHOD: Method[Progress, float] = Method(cosine, CosineParams)
