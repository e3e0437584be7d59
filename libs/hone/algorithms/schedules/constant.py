"""The peak rate for the whole run, after a warm-up."""

from pydantic import Field

from hone.algorithms.inputs import Progress
from hone.algorithms.method import Method, Metrics, Params, State


class Warmup(Params):
    """The warm-up."""

    warmup_steps: int = Field(0, ge=0, description="Steps over which the factor rises from 0 to 1, linearly.")

    def rise(self, n: int) -> float:
        """Return min(1, n / warmup_steps)."""
        return min(1.0, n / self.warmup_steps) if self.warmup_steps else 1.0


def constant(inputs: Progress, params: Warmup, state: State) -> tuple[float, State, Metrics]:
    """min(1, n / warmup_steps)."""
    return params.rise(inputs.n), state, {}


METHOD: Method[Progress, float] = Method(constant, Warmup)
