"""The step source of preferences: samples whose turns were branched become the pairs that a step trains on.

The groups of a step are those of rollouts. Their pairs are stored as one part, over which the step is planned, and
come as a version of the collection `pairs`, whose number is the step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hone import ids
from hone.algorithms.selskill import Round, SelskillPairs, pairs_of_round
from hone.store.objects import Objects
from hone.trajectory import parts
from hone.trajectory.plan import StepPlan
from hone.trajectory.records import Trajectory
from services.learner.driver.decisions import (
    CollectionVersion,
    GroupRequest,
    PlannedStep,
    PlanStep,
    ReadSamples,
    RequestGroups,
    StepAction,
    StepSource,
)
from services.learner.driver.lease import RunLease
from services.learner.driver.planning import Choice
from services.learner.driver.reporting import Event
from services.learner.driver.rollouts import Rollouts
from services.learner.driver.view import ReadySamples, View

NAME = "pairs"


class Preferences(StepSource):
    """Plans each step over the pairs of its groups."""

    def __init__(self, rollouts: Rollouts, slots: Mapping[str, Any], objects: Objects, lease: RunLease) -> None:
        """`lease` holds the spec of the stage."""
        self.stage, self._rollouts = rollouts.stage, rollouts
        self._params = SelskillPairs.model_validate(slots["builder"]["params"])
        self._objects, self._lease = objects, lease

    def next_action(self, view: View) -> StepAction | None:
        """Take the next action of rollouts."""
        return self._rollouts.next_action(view)

    def read_samples(self, action: ReadSamples) -> ReadySamples:
        """Read the samples that a step may train on."""
        return self._rollouts.read_samples(action)

    def group_request(self, action: RequestGroups) -> GroupRequest:
        """Return the next tasks of the run, whose harness branches as the builder says."""
        branched = {"branches": self._params.branches, "repeats": self._params.repeats}
        return replace(self._rollouts.group_request(action), harness_params=branched)

    def plan(self, action: PlanStep) -> PlannedStep:
        """Plan a step over the pairs of its groups, which are stored as one part."""
        choice: Choice = action.data
        plan, metrics = self._rollouts.plan_over(action.step, choice)
        made = pairs_of_round(self._groups(choice), self._params, f"pairs {self._lease.spec.seed} {action.step}")
        version = CollectionVersion(NAME, action.step, [pair.body() for pair in made.pairs], {}, made.metrics,
                                    warning(made))
        return PlannedStep(over_pairs(plan, self._stored(made), len(made.pairs)), metrics, choice.filtered_ids, version,
                           self._rollouts.warnings(action.step, choice))

    def prepare(self, view: View) -> None:
        """Draw the tasks of the next request."""
        self._rollouts.prepare(view)

    def _groups(self, choice: Choice) -> list[list[Trajectory]]:
        """Return the trajectories of each chosen group's graded samples."""
        stored = {key: parts.decode(self._objects.get(key)) for key in sorted({row["part"] for row in choice.samples})}
        found = {(key, one.group_id, one.index): one for key, held in stored.items() for one in held}
        return [[found[row["part"], row["group_id"], row["index"]] for row in group if row["score"] is not None]
                for group in choice.kept]

    def _stored(self, made: Round) -> Sequence[str]:
        """Store the pairs as one part; return its key, or nothing without a pair."""
        if not made.pairs:
            return []
        key = f"runs/{self._lease.run_id}/parts/{ids.new('part')}.parquet"
        self._objects.put(key, parts.encode(made.trajectories()))
        return [key]


def over_pairs(plan: StepPlan, stored: Sequence[str], count: int) -> StepPlan:
    """Return a plan over the groups as one over the pairs in a part.

    Minibatches are parts of the pairs, at most as many as there are. Without a pair the step changes no weight: its
    rate is 0, because moments of earlier steps would move them otherwise.
    """
    changed = {"builder": "selskill", "parts": list(stored), "minibatches": max(1, min(plan.minibatches, count))}
    return plan.model_copy(update=changed if count else {**changed, "epochs": 1, "lr": 0.0})


def warning(made: Round) -> Event | None:
    """Return the event of a step that has no pair, or no step pair although turns were branched."""
    lost = ", ".join(f"{count} {reason}" for reason, count in sorted(made.discarded.items()))
    if not made.pairs:
        return Event("no_pairs", "the step trains nothing: no task has both a success and a failure, and no branch a "
                     f"winner ({lost or 'no turn was branched'})", dict(made.discarded))
    if made.discarded and not made.metrics["pairs/step"]:
        return Event("no_step_pairs", f"no branch of the step gives a pair: {lost}", dict(made.discarded))
    return None
