"""REINFORCE, 1992."""

from typing import Literal

from pydantic import Field

from hone.algorithms.advantages.statistics import broadcast
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats
from hone.algorithms.method import Method, Metrics, Params, State


class ReinforceParams(Params):
    """The baseline."""

    baseline: Literal["zero", "running_mean"] = Field(
        "zero", description="b, taken off each reward: 0, or the mean over earlier batches.")

    def remembers(self) -> bool:
        """Return whether the baseline is a mean over earlier steps."""
        return self.baseline == "running_mean"


def reinforce(inputs: AdvantageInputs, params: ReinforceParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_i = R_i - b; b = 0, or the mean of all R of earlier batches (0 before the first).

    State: {count, sum} of the rewards so far.
    """
    count, total = state.get("count", 0), state.get("sum", 0.0)
    baseline = total / count if params.baseline == "running_mean" and count else 0.0
    seen = {"count": count + len(inputs.reward), "sum": total + float(inputs.reward.sum())}
    return broadcast(inputs.reward - baseline, inputs.tokens), seen, {"baseline": baseline}


METHOD: Method[AdvantageInputs, Estimate] = Method(reinforce, ReinforceParams, within_group=True, reads_baseline=True)
