"""The step source of self-verify: steps train on rollouts, or on verdicts about the run's own earlier answers.

Everything follows from rows. A version of the collection `verification` comes with each batch of answers. Its number is
the batch's step. It holds the items to judge that the batch gave, and as its state the schedule of verdict steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from random import Random
from typing import Any, Literal

from hone.algorithms.self_verify import (
    GenerationGroup,
    ItemInputs,
    PhaseInputs,
    SelfVerify,
    VerificationItem,
    build_verification_items,
    phases,
)
from hone.environments.tasks import make
from hone.environments.verdict_form import boxed_answer
from hone.resolution import scores
from hone.store.database import Database, Row
from hone.store.objects import Objects
from hone.text.conversation import content_text
from hone.text.reasoning import spoken
from hone.trajectory import parts
from hone.trajectory.plan import Collected, StepPlan, by_kind
from services.learner.driver.budgets import Granted
from services.learner.driver.decisions import (
    Collect,
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
from services.learner.driver.pacing import Outline
from services.learner.driver.peers import Task
from services.learner.driver.planning import Choice, every_group, sample_metrics
from services.learner.driver.reporting import Event
from services.learner.driver.rollouts import Rollouts, ready_samples
from services.learner.driver.view import ReadySamples, View

NAME = "verification"


class NothingToJudge(ValueError):
    """No batch of answers had both right and wrong ones, however many were sampled."""


@dataclass(frozen=True)
class VerificationTurn:
    """The kind of a step: rollouts, verdicts on `collected`, or verdicts on answers that are still to be sampled."""

    step: int
    kind: Literal["generate", "verify", "sample"] = "generate"
    collected: Collected | None = None
    batch: int = 0  # number of the batch of answers that is sampled now, from 1
    buffer: Sequence[Sequence[int]] = ()  # items that wait for their phase


class Verification(StepSource):
    """Alternates between rollouts for the run's own task and judgements of their answers."""

    def __init__(
        self, rollouts: Rollouts, outline: Outline, slots: Mapping[str, Any], database: Database, objects: Objects,
        lease: RunLease,
    ) -> None:
        """`lease` holds the spec of the stage."""
        self.stage, self._rollouts, self._outline, self._slots = rollouts.stage, rollouts, outline, slots
        self._params = SelfVerify.model_validate(slots["builder"]["params"])
        self._database, self._objects, self._lease = database, objects, lease

    def next_action(self, view: View) -> StepAction | None:
        """Take the next action of rollouts, request and plan verdicts, or sample answers that are only judged.

        Raises NothingToJudge.
        """
        turn = self._turn(view)
        if turn.kind == "generate":
            action = self._rollouts.next_action(view)
            return PlanStep(action.step, (action.data, turn)) if isinstance(action, PlanStep) else action
        if view.version_id is None or not self._outline.pace.plannable(turn.step, view.committed):
            return None
        return self._sample(view, turn) if turn.collected is None else self._judge(view, turn.step, turn.collected)

    def _turn(self, view: View) -> VerificationTurn:
        """Return the kind of the step after the last planned one."""
        step, newest = view.planned + 1, view.collected.get(NAME)
        if newest is None:
            return VerificationTurn(step, self._kind(1), batch=1)
        state: Mapping[str, Any] = newest["state"]
        place = step - state["first"]
        if 0 <= place < len(state["updates"]):
            items = Collected(name=NAME, version=newest["version"], items=state["updates"][place])
            return VerificationTurn(step, "verify", items)
        batch = state["batch"] + 1
        return VerificationTurn(step, self._kind(batch), batch=batch, buffer=state["buffer"])

    def _kind(self, batch: int) -> Literal["generate", "sample"]:
        return "sample" if self._params.at(batch) == "self_verify" else "generate"

    def _sample(self, view: View, turn: VerificationTurn) -> StepAction | None:
        """Sample answers that are only judged: batch after batch, until one has right and wrong answers."""
        groups, prompts = view.open("probe", turn.step), self._lease.spec.batch.prompts
        if groups.requested or view.unpublished:
            return None
        if groups.total:
            if view.samples is None:
                return ReadSamples(turn.step, "probe")
            version = self._version(turn, view.samples.answers)
            if version.items:
                return self._collect(version, every_group(list(view.samples.rows)))
        if groups.total >= self._params.max_batches * prompts:
            raise NothingToJudge(
                f"self_verify: {groups.total} groups of answers give no judgement of each label; expected a task that "
                "the base sometimes gets right and sometimes wrong, or mode verify_alter")
        return RequestGroups(turn.step, view.memory.next_task, prompts, view.version_id, "probe")

    def _collect(self, version: CollectionVersion, choice: Choice) -> Collect:
        metrics = sample_metrics(version.number, choice, self._slots)
        return Collect(version, [group[0]["group_id"] for group in choice.kept], {**metrics, **version.metrics})

    def _judge(self, view: View, step: int, collected: Collected) -> RequestGroups | PlanStep | None:
        """Request a group of verdicts on each item, then plan the step that trains on the verdicts."""
        groups = view.open("train", step)
        if not groups.total:
            count = len(collected.items)
            return RequestGroups(step, view.memory.next_task, count, view.version_id, judged=collected)
        if groups.requested or self._outline.unevaluated(view.planned, view.memory.evaluated):
            return None
        return PlanStep(step, collected)

    def read_samples(self, action: ReadSamples) -> ReadySamples:
        """Read the samples that a step may train on, or the answers, with their texts, that are only judged."""
        if action.purpose == "train":
            return self._rollouts.read_samples(action)
        rows = ready_samples(self._database, self._lease, action.purpose, action.step)
        return ReadySamples(rows, answers=self._answers(rows))

    def group_request(self, action: RequestGroups) -> GroupRequest:
        """Return the run's next tasks, or a task for each judged item with as many rollouts as a group has samples."""
        if action.judged is None:
            return self._rollouts.group_request(action)
        tasks = self._tasks(action.judged)
        return GroupRequest(tasks, [Granted(self._lease.spec.batch.samples)] * len(tasks), "verify")

    def plan(self, action: PlanStep) -> PlannedStep:
        """Plan a step of verdicts, or of rollouts and with it the version of the collection that its answers give."""
        if isinstance(action.data, Collected):
            choice = every_group(ready_samples(self._database, self._lease, "train", action.step, "verify"))
            return PlannedStep(*judged(*self._rollouts.plan_over(action.step, choice), action.data, choice.samples))
        choice, turn = action.data
        plan, metrics = self._rollouts.plan_over(action.step, choice)
        judges = self._params.at(turn.batch) != "generate"
        version = self._version(turn, self._answers(choice.samples)) if judges else None
        return PlannedStep(plan, metrics, choice.filtered_ids, version, self._rollouts.warnings(action.step, choice))

    def prepare(self, view: View) -> None:
        """Draw the tasks of the next request for the run's own task."""
        self._rollouts.prepare(view)

    def _version(self, turn: VerificationTurn, answers: Sequence[GenerationGroup]) -> CollectionVersion:
        """Return the version of the collection that comes with a batch of answers."""
        random = Random(f"verification {self._lease.spec.seed} {turn.step}")
        items, _, metrics = build_verification_items(ItemInputs(answers, random), self._params, {})
        ids = [(turn.step, place) for place in range(len(items))]
        inputs = PhaseInputs(turn.batch, self._lease.spec.batch.prompts, ids, random)
        updates, after, more = phases(inputs, self._params, {"buffer": turn.buffer})
        # The state: number of the batch, first step of verdicts, items of each such step, items that wait.
        state = {"batch": turn.batch, "first": turn.step + sum(update.generation for update in updates),
                 "updates": [update.items for update in updates if update.items], "buffer": after["buffer"]}
        named = by_kind("verify", {**metrics, "buffered_items": more["buffered_items"]})
        return CollectionVersion(NAME, turn.step, [_body(item) for item in items], state, named,
                                 _warning(named, len(items)))

    def _tasks(self, collected: Collected) -> list[Task]:
        versions, places = zip(*collected.items, strict=True)
        rows = self._database.all("collections.items", run_id=self._lease.run_id, name=collected.name,
                                  versions=list(versions), places=list(places))
        return [self._task({**row["body"], "collected": [row["version"], row["place"]]}) for row in rows]

    def _task(self, item: dict[str, Any]) -> Task:
        made = make("verification", {"grader": self._params.grader()}, 0, item)
        body = {"environment": made.environment, "params": made.params, "seed": made.seed, "item": made.item}
        return Task(body, made.content_hash)

    def _answers(self, samples: Sequence[Row]) -> list[GenerationGroup]:
        """Return samples as texts, group by group. Masked samples are left out."""
        graded = [row for row in samples if row["score"] is not None]
        said = {key: parts.texts(self._objects.get(key)) for key in sorted({row["part"] for row in graded})}
        found = self._database.all("grades.extracted", grade_ids=[row["grade_id"] for row in graded])
        extracted = {row["id"]: row["extracted"] for row in found}
        by_group = (list(rows) for _, rows in groupby(graded, key=lambda row: row["group_id"]))
        bounds = scores.bounds(self.stage.spec)
        return [_group(rows, [said[row["part"]][row["group_id"], row["index"]] for row in rows], extracted, bounds)
                for rows in by_group]


def _warning(metrics: Mapping[str, float], items: int) -> Event | None:
    """Return the event of a version most of whose items repeat one another."""
    if not metrics["verify/mostly_duplicates"]:
        return None
    share = metrics["verify/duplicate_share"]
    return Event("mostly_duplicates", f"{100 * share:.0f} % of {items} answers to judge repeat another one: few "
                 "questions are answered both rightly and wrongly", {"share": share})


def judged(
    plan: StepPlan, metrics: Mapping[str, float], collected: Collected, samples: Sequence[Row]
) -> tuple[StepPlan, dict[str, float]]:
    """Return the plan as one of verdicts on these items, and its metrics with those of the verdicts."""
    graded = [row for row in samples if row["score"] is not None]
    count = max(1, len(graded))
    verdicts = {"verdict_accuracy": sum(row["score"] > 0 for row in graded) / count,
                "unparsable_verdicts": sum(row["status"] == "no_answer" for row in graded) / count}
    parts = max(1, min(plan.minibatches, len(plan.groups)))
    return (plan.model_copy(update={"kind": "verify", "collected": collected, "minibatches": parts}),
            {**{name: value for name, value in metrics.items() if name != "reward/between"}, **verdicts})


def _group(
    rows: Sequence[Row], said: Sequence[parts.SampleText], extracted: Mapping[int, str], bounds: tuple[float, float]
) -> GenerationGroup:
    low, high = bounds
    texts = [spoken(one.text) or one.text for one in said]  # a judge reads no thoughts, unless there is nothing else
    answers = [extracted.get(row["grade_id"]) or boxed_answer(text) or text.strip()
               for row, text in zip(rows, texts, strict=True)]
    return GenerationGroup(
        rows[0]["group_id"], question(said[0].item), answers,
        [(row["score"] - low) / (high - low) for row in rows], [row["status"] == "ok" for row in rows], texts)


def question(item: Mapping[str, Any]) -> str:
    """Return the question of a task's item: its prompt, or its user's last message. Raises ValueError if it has none.
    """
    said = [content_text(message) for message in item.get("messages") or [] if message["role"] == "user"]
    asked = said[-1] if said else item.get("prompt")
    if not isinstance(asked, str) or not asked.strip():
        raise ValueError(f"self_verify: found an item with the keys {', '.join(item)}, expected its question as "
                         "prompt, or as the user's last message")
    return asked


def _body(item: VerificationItem) -> dict[str, Any]:
    """Return an item as its row has it: the judge's prompt, the right verdict, and the trajectory that is judged."""
    return {"prompt": item.prompt, "label": item.label, "rho": item.rho, "source": list(item.source)}
