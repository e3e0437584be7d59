"""A run's outline: everything that its spec says about each step before the run begins. Numbers in, numbers out.

Step n trains version n - 1. A group's staleness counts from the oldest version that sampled one of its tokens.
"""

from collections.abc import Collection
from dataclasses import dataclass

from hone.algorithms.schedules.step_sizes import StepSizes
from hone.resolution import batches
from hone.resolution.stages import ends, stages
from hone.spec.run import MOST, EvalSpec, RunSpec
from services.learner.driver.view import GroupCount


def staleness(n: int, version: int) -> int:
    """Return how many versions old a sample of version number `version` is when step `n` trains on it."""
    return n - 1 - version


@dataclass(frozen=True)
class Pace:
    """How far rollouts run ahead of training. No sample is trained on that is staler than `max_staleness`.

    With `max_staleness` 0 a run is synchronous: rollouts and training take turns.
    """

    max_staleness: int
    sizes: StepSizes  # groups of each step

    @property
    def steps(self) -> int:
        """Steps of the run."""
        return self.sizes.steps

    def size(self, n: int) -> int:
        """Return the groups of step `n`; beyond the last step, the groups of the last step."""
        return self.sizes.size(min(n, self.steps))

    def change(self, n: int) -> str:
        """Return a sentence if step `n` differs in size from the step before, else ""."""
        before, now = self.size(max(1, n - 1)), self.size(n)
        return "" if before == now else f"{now} groups a step from here on, {before} before"

    def before(self, n: int) -> int:
        """Return the groups of all steps before step `n`."""
        return self.sizes.before(n)

    @property
    def runs_ahead(self) -> bool:
        """Whether samples may come from older versions, several versions in one sequence."""
        return self.max_staleness > 0

    def room(self, committed: int, last: int = MOST) -> int:
        """Return how many groups may be open: those of the steps that staleness allows, up to step `last`."""
        end = min(committed + self.max_staleness + 1, last)
        return max(0, self.before(end + 1) - self.before(committed + 1))

    def plannable(self, n: int, committed: int) -> bool:
        """Return whether step `n` may be planned. At most one step is planned ahead, so that the trainer never waits.
        """
        return n <= min(self.steps, committed + (2 if self.runs_ahead else 1))

    def waits(self, n: int, open: GroupCount) -> bool:
        """Return whether step `n` has to wait for requested groups.

        A synchronous step waits for every group. Otherwise a step waits for groups that would be too stale for the
        next step.
        """
        if not self.runs_ahead:
            return not open.total or open.requested > 0
        return open.begun is not None and staleness(n, open.begun) >= self.max_staleness

    def oldest(self, n: int) -> int:
        """Return the number of the oldest version whose samples step `n` may train on."""
        return n - 1 - self.max_staleness

    def expires(self, n: int, open: GroupCount) -> bool:
        """Return whether a group is past its deadline, or too stale for step `n`. Synchronous groups never expire."""
        outlived = open.oldest is not None and open.oldest < self.oldest(n)
        return self.runs_ahead and (open.late > 0 or outlived)

    def ends(self, evaluation: GroupCount) -> bool:
        """Return whether a requested evaluation is over: each of its groups is ready or past its deadline."""
        return evaluation.total > 0 and evaluation.requested <= (evaluation.late if self.runs_ahead else 0)


@dataclass(frozen=True)
class Outline:
    """The facts of a run that its spec fixes: its pace, its evaluations and its deadline."""

    pace: Pace
    evaluation: EvalSpec | None
    stage_ends: Collection[int]  # the last step of each stage
    deadline_s: float

    @classmethod
    def of(cls, spec: RunSpec) -> "Outline":
        """Return the outline of a checked spec."""
        return cls(Pace(spec.max_staleness, sizes(spec)), spec.eval, frozenset(ends(spec)), spec.deadline_s)

    def unevaluated(self, step: int, evaluated: Collection[int]) -> bool:
        """Return whether the weights after `step` are to be evaluated and are not among the `evaluated` ones."""
        return eval_due(self.evaluation, self.stage_ends, step) and step not in evaluated

    def last_plannable(self, committed: int, last: int, evaluated: Collection[int], ahead: int) -> int:
        """Return the last step up to `last` that may be planned where nothing is sampled.

        That is at most `ahead` steps after the committed one, and no step after weights that are to be evaluated.
        """
        if self.unevaluated(committed, evaluated):
            return committed
        following = range(committed + 1, min(committed + ahead, last) + 1)
        due = (step for step in following if eval_due(self.evaluation, self.stage_ends, step))
        return next(due, max(following, default=committed))


def sizes(spec: RunSpec) -> StepSizes:
    """Return the groups of each step of a checked spec."""
    return StepSizes(tuple(piece for stage in stages(spec) for piece in batches.sizes(stage.spec).pieces))


def eval_due(spec: EvalSpec | None, stage_ends: Collection[int], step: int) -> bool:
    """Return whether the weights after `step` are evaluated: the base, every `spec.every` steps, each stage's last."""
    return spec is not None and (step % spec.every == 0 or step in stage_ends)
