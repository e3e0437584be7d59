"""The peak rate throughout, after a warm-up."""

from hone.algorithms.method import Metrics, State
from hone.algorithms.schedules.inputs import Progress, Warmup


def constant(inputs: Progress, params: Warmup, state: State) -> tuple[float, State, Metrics]:
    """min(1, n / warmup_steps)."""
    return params.rise(inputs.n), state, {}
