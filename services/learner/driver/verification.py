"""Self-verify in the driver: which task the next step trains, and the judgements that a batch of answers gives.

All of it follows from rows. A version of the collection `verification` comes with each batch of answers, numbered as
its step: its items, and as its state what the schedule makes of them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from random import Random
from typing import Any, Literal

from hone.algorithms.builders.self_verify import SelfVerify
from hone.algorithms.builders.verification_items import (
    GenerationGroup,
    ItemInputs,
    VerificationItem,
    build_verification_items,
)
from hone.algorithms.schedules.phases import PhaseInputs, phases
from hone.environments.tasks import make
from hone.graders.verdict import boxed_answer
from hone.store.database import Database, Row, Transaction
from hone.store.leases import fenced
from hone.store.objects import Objects
from hone.trajectory import texts
from hone.trajectory.plan import Collected, StepPlan, by_kind
from services.learner.driver.lease import RunLease
from services.learner.driver.peers import Task
from services.learner.driver.requests import next_request, request_groups, train_sampling

NAME = "verification"


class NothingToJudge(ValueError):
    """However many answers were sampled, there was no batch with right and wrong ones in it."""


@dataclass(frozen=True)
class Turn:
    """What a step is made of: rollouts that it trains, verdicts on `collected`, or first answers for such."""

    step: int
    kind: Literal["generate", "verify", "sample"] = "generate"
    collected: Collected | None = None
    batch: int = 0  # number of the batch of answers that is sampled now, from 1
    buffer: Sequence[Sequence[int]] = ()  # items that wait for their phase


@dataclass(frozen=True)
class Version:
    """A version of the collection, before it is stored."""

    number: int  # the step it comes with
    items: list[VerificationItem]
    state: dict[str, Any]  # {batch, first: the first step of verdicts, updates: items of each such step, buffer: items}
    metrics: dict[str, float]


class Verification:
    """The second task of a run whose builder is self_verify; of other runs it knows that they have none."""

    def __init__(self, database: Database, objects: Objects, lease: RunLease, builder: Mapping[str, Any]) -> None:
        self._database, self._objects, self._lease = database, objects, lease
        self._on = builder["name"] == "self_verify"
        self._params = SelfVerify.model_validate(builder["params"] if self._on else {})

    def turn(self, planned: int) -> Turn:
        """Return what the step after the last planned one is made of."""
        step, newest = planned + 1, self._newest() if self._on else None
        if newest is None:
            return Turn(step, self._kind(1), batch=1)
        state: dict[str, Any] = newest["state"]
        place = step - state["first"]
        if 0 <= place < len(state["updates"]):
            items = Collected(name=NAME, version=newest["version"], items=state["updates"][place])
            return Turn(step, "verify", items)
        batch = state["batch"] + 1
        return Turn(step, self._kind(batch), batch=batch, buffer=state["buffer"])

    def collect(self, turn: Turn, samples: Sequence[Row]) -> Version | None:
        """Return the version that comes with a batch of answers; None where nothing is judged, or no longer."""
        if not self._on or self._params.at(turn.batch) == "generate":
            return None
        random = Random(f"verification {self._lease.spec.seed} {turn.step}")
        items, _, metrics = build_verification_items(ItemInputs(self._groups(samples), random), self._params, {})
        ids = [(turn.step, place) for place in range(len(items))]
        inputs = PhaseInputs(turn.batch, self._lease.spec.batch.prompts, ids, random)
        updates, after, more = phases(inputs, self._params, {"buffer": turn.buffer})
        state = {"batch": turn.batch, "first": turn.step + sum(update.generation for update in updates),
                 "updates": [update.items for update in updates if update.items], "buffer": after["buffer"]}
        told = by_kind("verify", {**metrics, "buffered_items": more["buffered_items"]})
        return Version(turn.step, items, state, told)

    def store(self, transaction: Transaction, version: Version) -> None:
        """Add a version and its items, and an event where most of them repeat another one."""
        key = {"run_id": self._lease.run_id, "tenant_id": self._lease.tenant_id, "name": NAME,
               "version": version.number}
        transaction.run("driver.add_collection", **key, state=json.dumps(version.state))
        transaction.run("driver.add_items", **key, bodies=[json.dumps(_body(item)) for item in version.items])
        if version.metrics["verify/mostly_duplicates"]:
            share = version.metrics["verify/duplicate_share"]
            transaction.run("driver.record_event", tenant_id=self._lease.tenant_id, run_id=self._lease.run_id,
                            kind="mostly_duplicates", step=version.number, data=json.dumps({"share": share}),
                            message=f"{100 * share:.0f} % of {len(version.items)} answers to judge repeat another one: "
                                    "few questions are answered both rightly and wrongly")

    def keep(self, version: Version, samples: Sequence[Row], metrics: Mapping[str, float]) -> None:
        """Store a version whose answers are only judged: their groups have done what they were for."""
        told = {**metrics, **version.metrics}
        with fenced(self._database, self._lease) as transaction:
            self.store(transaction, version)
            transaction.run("driver.use_groups", group_ids=sorted({row["group_id"] for row in samples}))
            transaction.run("driver.record_metrics", run_id=self._lease.run_id, tenant_id=self._lease.tenant_id,
                            step=version.number, names=list(told), values=list(told.values()))

    def allow_more(self, groups: int) -> None:
        """Raise NothingToJudge when a step has as many groups of answers as the builder allows."""
        if groups >= self._params.max_batches * self._lease.spec.batch.prompts:
            raise NothingToJudge(
                f"self_verify: {groups} groups of answers give no judgement of each label; expected a task that the "
                "base sometimes gets right and sometimes wrong, or mode verify_alter")

    def request(self, step: int, version_id: str | None, collected: Collected, traceparent: str | None) -> None:
        """Request verdicts on each item, as many as a group has samples."""
        tasks, samples = self._tasks(collected), self._lease.spec.batch.samples
        with fenced(self._database, self._lease) as transaction:
            first = next_request(transaction, self._lease, "train")
            request_groups(transaction, self._lease, "train", first, step, version_id, tasks, [samples] * len(tasks),
                           train_sampling(self._lease), traceparent=traceparent, kind="verify")

    def _kind(self, batch: int) -> Literal["generate", "sample"]:
        return "sample" if self._on and self._params.at(batch) == "self_verify" else "generate"

    def _newest(self) -> Row | None:
        return self._database.one("driver.newest_collection", run_id=self._lease.run_id, name=NAME)

    def _tasks(self, collected: Collected) -> list[Task]:
        versions, places = zip(*collected.items, strict=True)
        rows = self._database.all("driver.items", run_id=self._lease.run_id, name=collected.name,
                                  versions=list(versions), places=list(places))
        return [self._task({**row["body"], "collected": [row["version"], row["place"]]}) for row in rows]

    def _task(self, item: dict[str, Any]) -> Task:
        made = make("verification", {"grader": self._params.grader()}, 0, item)
        body = {"environment": made.environment, "params": made.params, "seed": made.seed, "item": made.item}
        return Task(body, made.content_hash)

    def _groups(self, samples: Sequence[Row]) -> list[GenerationGroup]:
        """Return what was sampled in words; samples without a score are left out, through no fault of their own."""
        graded = [row for row in samples if row["score"] is not None]
        said = {key: texts.said(self._objects.get(key)) for key in sorted({row["part"] for row in graded})}
        found = self._database.all("driver.extracted", grade_ids=[row["grade_id"] for row in graded])
        extracted = {row["id"]: row["extracted"] for row in found}
        by_group = (list(rows) for _, rows in groupby(graded, key=lambda row: row["group_id"]))
        return [_group(rows, [said[row["part"]][row["group_id"], row["index"]] for row in rows], extracted)
                for rows in by_group]


def judged(
    plan: StepPlan, metrics: Mapping[str, float], collected: Collected, samples: Sequence[Row]
) -> tuple[StepPlan, dict[str, float]]:
    """Return the plan of a step as one of verdicts on these items; its metrics, and how the verdicts were."""
    told = [row for row in samples if row["score"] is not None]
    count = max(1, len(told))
    verdicts = {"verdict_accuracy": sum(row["score"] > 0 for row in told) / count,
                "unparsable_verdicts": sum(row["status"] == "no_answer" for row in told) / count}
    parts = max(1, min(plan.minibatches, len(plan.groups)))
    return (plan.model_copy(update={"kind": "verify", "collected": collected, "minibatches": parts}),
            {**metrics, **verdicts})


def _group(rows: Sequence[Row], said: Sequence[texts.Said], extracted: Mapping[int, str]) -> GenerationGroup:
    answers = [extracted.get(row["grade_id"]) or boxed_answer(one.text) or one.text.strip()
               for row, one in zip(rows, said, strict=True)]
    return GenerationGroup(
        rows[0]["group_id"], question(said[0].item), answers, [row["score"] for row in rows],
        [row["status"] == "ok" for row in rows], [one.text for one in said])


def question(item: Mapping[str, Any]) -> str:
    """Return what a task's item asks: its prompt, or its user's last words. Raises ValueError where it has none."""
    said = [message["content"] for message in item.get("messages") or [] if message["role"] == "user"]
    asked = said[-1] if said else item.get("prompt")
    if not isinstance(asked, str) or not asked.strip():
        raise ValueError(f"self_verify: found an item with the keys {', '.join(item)}, expected its question as "
                         "prompt, or as the user's last message")
    return asked


def _body(item: VerificationItem) -> dict[str, Any]:
    """Return an item as it is stored: what a judge is asked, what is right, and the trajectory that it is about."""
    return {"prompt": item.prompt, "label": item.label, "rho": item.rho, "source": list(item.source)}
