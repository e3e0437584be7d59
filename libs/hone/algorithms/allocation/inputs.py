"""Inputs of an allocation: the prompts of a coming step, and the knowledge about each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import Field, model_validator

from hone.algorithms.method import Params


class AllocationParams(Params):
    """Parameters of an allocation, and what it reads."""

    def success_at(self) -> float:
        """Return the share of the range of rewards from which a sample counts as a success."""
        return 1.0

    def recent_steps(self) -> int:
        """Return of how many earlier steps the allocation reads the success rates."""
        return 1

    def expected(self, inputs: "AllocationInputs") -> Sequence[float | None]:
        """Return the chance of success that the allocation takes for each prompt; None: it knows none."""
        return inputs.chances


class RolloutBounds(AllocationParams):
    """Bounds of a prompt's rollouts that do not depend on their mean."""

    n_min: int = Field(2, ge=1, description="Fewest rollouts of a prompt.")
    n_max: int = Field(32, ge=1, description="Most rollouts of a prompt.")

    @model_validator(mode="after")
    def _ordered(self) -> "RolloutBounds":
        if self.n_min > self.n_max:
            raise ValueError(f"expected n_min of at most n_max, {self.n_max}")
        return self

    def bounds(self, _mean: float) -> tuple[int, int]:
        """Return the fewest and the most rollouts of a prompt, whatever their mean over prompts is."""
        return self.n_min, self.n_max


@dataclass(frozen=True)
class GroupOutcomes:
    """The rewards of one earlier group of a prompt, as its grader gave them."""

    samples: int
    mean: float
    variance: float = 0.0  # of the population, so not unbiased
    above: int = 0  # samples whose reward exceeded the mean of their step
    successes: int = 0  # samples whose reward was at least `AllocationParams.success_at` of the range
    step: int = 0  # of the run, that trained on it


@dataclass(frozen=True)
class AllocationInputs:
    """Allocation (S1): the prompts of a coming step, and the rollouts to distribute."""

    task_hashes: Sequence[str]
    budget: int  # rollouts of the whole step
    outcomes: Mapping[str, Sequence[GroupOutcomes]] = field(default_factory=dict)  # by hash, oldest group first
    bounds: tuple[float, float] = (0.0, 1.0)  # smallest and largest reward
    predicted: Sequence[float | None] = ()  # of each prompt, its chance of success; None, or () for all: not known
    success_rates: Sequence[float] = ()  # of earlier steps in order, the mean over their groups
    step: int = 0  # of the run, that is coming

    @property
    def chances(self) -> list[float | None]:
        """The predicted chance of each prompt, None where there is none or it is no chance."""
        given = self.predicted or [None] * len(self.task_hashes)
        return [None if chance is None or not 0 <= chance <= 1 else float(chance) for chance in given]

    def groups(self, task_hash: str) -> list[GroupOutcomes]:
        """Return the earlier groups of a prompt whose rewards are numbers, oldest first."""
        return [one for one in self.outcomes.get(task_hash, ()) if one.samples > 0 and math.isfinite(one.mean)]
