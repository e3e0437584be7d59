"""A plateau, then a linear decay to zero."""

from pydantic import Field

from hone.algorithms.inputs import Progress
from hone.algorithms.method import Method, Metrics, State
from hone.algorithms.schedules.constant import Warmup


class LinearParams(Warmup):
    """The warm-up and the length of the decay."""

    decay_fraction: float = Field(
        1.0, gt=0, le=1, description="Share of the steps, at the end of the run, in which the rate falls to 0.")


def linear(inputs: Progress, params: LinearParams, state: State) -> tuple[float, State, Metrics]:
    """min(1, n / warmup_steps) * min(1, (steps - n + 1) / (decay_fraction steps)). Step `steps + 1` would have 0."""
    left = (inputs.steps - inputs.n + 1) / (params.decay_fraction * inputs.steps)
    return params.rise(inputs.n) * min(1.0, left), state, {}


METHOD: Method[Progress, float] = Method(linear, LinearParams)
