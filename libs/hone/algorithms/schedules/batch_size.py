"""Batch-size schedules by the functional scaling law, arXiv 2602.14208: the rows of a step, by the rows consumed.

A schedule depends on the rows consumed and not on the step number, so a run can resume anywhere. The stage that holds
the rows consumed so far sets the size of the next batch. Only the end of the budget cuts a batch. Rows are groups; with
dynamic sampling only kept groups. At a switch the learning rate and the optimizer's state stay.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from pydantic import Field, field_validator, model_validator

from hone.algorithms.catalogue import BATCH_SIZES
from hone.algorithms.method import Method, Metrics, Params, State
from hone.algorithms.schedules.step_sizes import Piece, StepSizes
from hone.spec.problems import Invalid, Problem

_NO_RATE = 0.01


@dataclass(frozen=True)
class Consumption:
    """Batch size: the rows that a run has consumed of its budget."""

    consumed: int  # rows so far
    budget: int  # rows of the whole run; may differ from call to call
    unique: int | None = None  # rows of the data; None: endless
    rate: float = 1.0  # factor of the peak learning rate at this step


class SizeStage(Params):
    """A batch size and the rows consumed at which it ends."""

    until: int = Field(ge=0, description="Rows consumed at which this size ends.")
    rows: int = Field(ge=1, description="Rows of each batch that starts before.")


class BatchSizeParams(Params):
    """Base of all schedules' parameters."""

    @abstractmethod
    def sizes(self) -> list[int]:
        """Return the batch sizes of the schedule in rows, ascending."""


class ConstantParams(BatchSizeParams):
    """One size."""

    rows: int = Field(512, ge=1, description="Rows of every batch.")

    def sizes(self) -> list[int]:
        """Return B alone."""
        return [self.rows]


class StagesParams(BatchSizeParams):
    """Sizes one after another."""

    stages: list[SizeStage] = Field(
        min_length=1, max_length=256, description="Stages in order; the last one lasts to the end of the budget.")

    @field_validator("stages")
    @classmethod
    def _growing(cls, stages: list[SizeStage]) -> list[SizeStage]:
        if any(after.until <= before.until or after.rows < before.rows for before, after in pairwise(stages)):
            raise ValueError("expected stages whose `until` rises and whose `rows` never fall")
        return stages

    def sizes(self) -> list[int]:
        """Return B_j of every stage."""
        return [stage.rows for stage in self.stages]


class GrowthParams(BatchSizeParams):
    """Two sizes, the second larger."""

    small: int = Field(512, ge=1, description="B_1, rows of the first batches.")
    large: int | None = Field(None, ge=2, description="B_2, rows of the largest batches; null: twice `small`.")

    @model_validator(mode="after")
    def _ordered(self) -> "GrowthParams":
        if self.largest() <= self.small:
            raise ValueError(f"expected large above small ({self.small})")
        return self

    def largest(self) -> int:
        """Return B_2, in rows."""
        return self.large or 2 * self.small

    def sizes(self) -> list[int]:
        """Return B_1 and B_2."""
        return [self.small, self.largest()]


class LateSwitchParams(GrowthParams):
    """The time of the switch."""

    fraction: float = Field(0.8, ge=0, le=1, description="Share of the budget consumed at the switch.")


class FslParams(GrowthParams):
    """Growth by powers of two, after the kernel of the scaling law."""

    beta: float = Field(2.0, gt=1, description="Capacity of the task: its eigenvalues fall as j^-beta.")
    eta: float = Field(0.05, gt=0, description="Intrinsic time of one optimizer step.")
    growth: float = Field(
        0.2, ge=0, le=1, description="Share of the budget, at its end, that is used by batches above `small`.")

    def sizes(self) -> list[int]:
        """Return B_j = B_1 2^j <= B_2."""
        levels = (self.largest() // self.small).bit_length()
        return [self.small * 2**level for level in range(levels)]


def constant(inputs: Consumption, params: ConstantParams, state: State) -> tuple[int, State, Metrics]:
    """B."""
    return _next(inputs, [SizeStage(until=inputs.budget, rows=params.rows)], state)


def stages(inputs: Consumption, params: StagesParams, state: State) -> tuple[int, State, Metrics]:
    """B_j while consumed < until_j, for the smallest such j; the last B after that."""
    return _next(inputs, params.stages, state)


def late_switch(inputs: Consumption, params: LateSwitchParams, state: State) -> tuple[int, State, Metrics]:
    """B_1 while consumed < fraction D, rounded half up; then B_2."""
    switch = half_up(params.fraction * inputs.budget)
    return _next(inputs, two_stages(switch, inputs.budget, params.small, params.largest()), state)


def fsl(inputs: Consumption, params: FslParams, state: State) -> tuple[int, State, Metrics]:
    """B(t) ~ sqrt(K(T - t)) in powers of two: B_j = B_1 2^j <= B_2 from the remaining intrinsic time u_j on.

    u_j = max(0, U 2^(-(j - 1) / (1 - 1 / (2 beta))) - 1), and U such that the levels j >= 1 have growth D rows.
    """
    return _next(inputs, fsl_stages(inputs.budget, params), state)


def fsl_stages(budget: int, params: FslParams) -> list[SizeStage]:
    """Return the stages of `fsl`: level j >= 1 has B_j (u_j - u_{j+1}) / eta rows, level 0 the rest.

    U is the smallest of the solutions for the first 1, 2, ... levels alone: the rows of the first levels are linear in
    U, and the rows of all levels are their maximum. U - 1 is computed, because it may be tiny.
    """
    sizes = params.sizes()
    grown = np.array(sizes[1:], np.float64)
    if not len(grown):
        return [SizeStage(until=budget, rows=params.small)]
    shares = 2.0 ** (-np.arange(len(grown)) / (1 - 1 / (2 * params.beta)))
    steps = np.diff(grown, prepend=0.0)
    solutions = (params.eta * params.growth * budget + (steps * (1 - shares)).cumsum()) / (steps * shares).cumsum()
    remaining = np.maximum(0.0, solutions.min() * shares - (1 - shares))
    lengths = grown * -np.diff(remaining, append=0.0) / params.eta
    left = [params.growth * budget, *lengths[::-1].cumsum()[::-1][1:]]
    ends = [*(half_up(budget - rows) for rows in left), budget]
    return _nonempty([SizeStage(until=end, rows=rows) for end, rows in zip(ends, sizes, strict=True)])


def two_stages(switch: int, budget: int, small: int, large: int) -> list[SizeStage]:
    """Return B_1 until `switch` rows, in [0, budget], then B_2; one stage where the other would be empty."""
    return _nonempty([SizeStage(until=switch, rows=small), SizeStage(until=budget, rows=large)])


def half_up(value: float) -> int:
    """Return the nearest integer; halves are rounded up."""
    return math.floor(value + 0.5)


def refuse_uneven(params: BatchSizeParams, micro_batch: int) -> None:
    """Raise hone.spec.problems.Invalid when a size of the schedule is not a whole number of micro-batches, in rows."""
    problems = [Problem("rows", str(size), f"a multiple of the micro-batch ({micro_batch} rows)")
                for size in params.sizes() if size % micro_batch]
    if problems:
        raise Invalid(problems)


def _nonempty(planned: Sequence[SizeStage]) -> list[SizeStage]:
    begins = [0, *(stage.until for stage in planned)]
    return [stage for begin, stage in zip(begins, planned, strict=False) if stage.until > begin] or [planned[-1]]


def _next(inputs: Consumption, planned: Sequence[SizeStage], state: State) -> tuple[int, State, Metrics]:
    """Return the rows of the next batch, 0 after the budget.

    Metrics: `rows` before the cut, the stage's index, and two warnings: the data is used more than once, so the law
    does not hold; or the learning rate is nearly 0, so a switch has no effect.
    """
    place = next((place for place, stage in enumerate(planned) if inputs.consumed < stage.until), len(planned) - 1)
    rows = planned[place].rows
    return max(0, min(rows, inputs.budget - inputs.consumed)), state, {
        "rows": float(rows),
        "stage": float(place),
        "second_pass": float(inputs.unique is not None and inputs.budget > inputs.unique),
        "rate_decayed": float(inputs.rate <= _NO_RATE),
    }


def batches(name: str, params: Mapping[str, Any], budget: int) -> StepSizes:
    """Return the rows of every batch of a run, in order; they add up to `budget`.

    Takes time and memory for each size of the schedule, not for each batch. Raises pydantic.ValidationError for bad
    parameters.
    """
    method = BATCH_SIZES[name]
    checked = method.params.model_validate(params)

    def whole(consumed: int) -> int:
        """Return the rows of the next batch, before the end of the budget cuts it."""
        _, _, metrics = method.function(Consumption(consumed, budget), checked, {})
        return int(metrics["rows"])

    pieces, consumed = list[Piece](), 0
    while consumed < budget:
        rows, left = whole(consumed), budget - consumed
        steps = min(_equal_steps(whole, consumed, left), left // rows)
        pieces.append(Piece(steps, rows) if steps else Piece(1, left))
        consumed += pieces[-1].steps * pieces[-1].size
    return StepSizes(tuple(pieces))


def _equal_steps(whole: Callable[[int], int], consumed: int, left: int) -> int:
    """Return how many batches begin before the schedule has another size or no row is left. Sizes never fall."""
    rows = whole(consumed)
    least, most = 1, -(-left // rows)
    while least < most:
        middle = (least + most + 1) // 2
        same = whole(consumed + (middle - 1) * rows) == rows
        least, most = (middle, most) if same else (least, middle - 1)
    return least


CONSTANT: Method[Consumption, int] = Method(constant, ConstantParams)
STAGES: Method[Consumption, int] = Method(stages, StagesParams)
LATE_SWITCH: Method[Consumption, int] = Method(late_switch, LateSwitchParams)
FSL: Method[Consumption, int] = Method(fsl, FslParams)
