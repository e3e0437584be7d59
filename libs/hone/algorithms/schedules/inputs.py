"""Where a run stands: step `n` of `steps`, counted from 1."""

from dataclasses import dataclass

from pydantic import Field

from hone.algorithms.method import Params


@dataclass(frozen=True)
class Progress:
    """Step n of a run of `steps`."""

    n: int
    steps: int


class Warmup(Params):
    """A slow start."""

    warmup_steps: int = Field(0, ge=0, description="Steps over which the factor rises from 0 to 1, linearly.")

    def rise(self, n: int) -> float:
        """min(1, n / warmup_steps)."""
        return min(1.0, n / self.warmup_steps) if self.warmup_steps else 1.0
