"""One run, as the driver moves it on: the training loop, told as the things that may come next."""

import time
from functools import cached_property

from hone.algorithms.slots import needs
from hone.crashpoints import reach
from hone.process.heartbeat import engine_fresh_s
from hone.queues.hints import Hints
from hone.spec.settings import Settings
from hone.spec.stages import ends
from hone.store.database import Database, Row, Transaction
from hone.store.leases import fenced
from hone.store.objects import Objects
from hone.telemetry import tracing
from hone.trajectory.plan import Collected, StepPlan, by_kind
from services.learner.driver import operations
from services.learner.driver.engine_clock import EngineClock
from services.learner.driver.evaluation import record_evaluation, request_evaluation
from services.learner.driver.lease import RunLease, close
from services.learner.driver.pacing import Pace, expired, expiry
from services.learner.driver.peers import Peers
from services.learner.driver.planning import Choice, choose, every_group, rollout_plan, supervised_plan, with_components
from services.learner.driver.probe_gap import probe_gap, warn
from services.learner.driver.refusals import drop_refused
from services.learner.driver.requests import eval_due, next_place, next_request, request_groups, train_sampling
from services.learner.driver.tasks import Tasks
from services.learner.driver.traces import StepTraces
from services.learner.driver.training import Training, Trainings, sizes
from services.learner.driver.verification import Turn, Verification, Version, judged
from services.learner.driver.view import View, situation, view

PLAN_AHEAD = 4  # supervised steps that may wait for the trainer: enough that it never waits for the driver


class Run:
    """A leased run. All it knows it reads from rows; what it keeps in memory only saves looking again."""

    def __init__(
        self, settings: Settings, database: Database, objects: Objects, hints: Hints, peers: Peers, lease: RunLease
    ) -> None:
        self.lease = lease
        self._settings, self._database, self._hints = settings, database, hints
        self._spec = lease.spec
        self._tasks = Tasks(database, objects, peers, lease)
        self._trainings = Trainings(database, objects, peers, lease, self._tasks)
        self._verification = Verification(database, objects, lease, self._trainings.of(1).slots["builder"])
        self._pace = Pace(lease.spec.max_staleness, sizes(lease.spec))
        self._engine_clock = EngineClock(lease.model_id, engine_fresh_s(settings.sweep_s))
        self._traces = StepTraces(database, lease, settings.trace_steps)
        self._seen, self._seen_at, self._hinted_at = "", time.monotonic(), 0.0
        self._told: str | None = None
        self._allocated: dict[tuple[int, int], list[int]] = {}  # of the next request, by its first place and count

    def advance(self) -> bool:
        """Do the first thing that applies, in this order; False when all that is left is to wait.

        A run ends when it was cancelled, failed or is past its deadline, and rests while it is paused. It publishes
        its base as version 0, and each role's model. From there: evaluate the newest version when that is due; begin
        the next stage when the one before is committed; request groups as far ahead as staleness and stage allow; once
        a step's are ready, plan it and append its operations for the trainer (where its task is to judge the run's own
        answers, the same with those); and finish when the last step is committed and evaluated. Raises LeaseLost when
        the run became somebody else's.
        """
        now = view(self._database, self.lease)
        self._traces.report(now.committed)
        if self._end(now) or self._rest(now):
            return True
        if now.state == "paused":
            return self._wait(now)
        return (
            self._publish_base(now) or drop_refused(self._database, self.lease, now)
            or self._request_evaluation(now) or self._record_evaluation(now)
            or self._expire(now) or self._begin_stage(now) or self._go_on(now)
            or self._finish(now) or self._wait(now)
        )

    def explain(self, reason: str | None) -> None:
        """Say on the run's row what it waits for; None when it moves."""
        self._told = reason
        self._database.run("driver.say_waiting", run_id=self.lease.run_id, epoch=self.lease.epoch, waiting_for=reason)

    def fail(self, reason: str) -> None:
        """End the run as failed."""
        self._close("failed", reason, "failed")

    # What may come next, in order ---------------------------------------------------------------------------------

    def _end(self, now: View) -> bool:
        if now.desired == "cancel":
            self._close("cancelled", "cancelled on request", "cancelled")
        elif now.failure is not None:
            self.fail(now.failure)
        elif now.past_deadline:
            self.fail(f"the run's deadline of {self._spec.deadline_s:.0f} s passed: {situation(now)}")
        else:
            return False
        return True

    def _rest(self, now: View) -> bool:
        wanted = "paused" if now.desired == "pause" else "running"
        if now.state == wanted:
            return False
        with fenced(self._database, self.lease) as transaction:
            transaction.run("driver.set_state", run_id=self.lease.run_id, epoch=self.lease.epoch, state=wanted,
                            reason=None)
        return True

    def _publish_base(self, now: View) -> bool:
        unpublished = now.version_id is None and now.committed == 0
        if not (unpublished or now.unpublished) or self._base_appended:
            return False
        with fenced(self._database, self.lease) as transaction:
            for model_id in (self.lease.model_id, *self.lease.roles.values()):
                operations.append(transaction, self.lease.tenant_id, model_id,
                                  operations.base_operation(self.lease.run_id))
        self._base_appended = True
        return True

    def _request_evaluation(self, now: View) -> bool:
        if now.version_id is None or not self._evaluation_pending(now) or now.open("eval", now.committed).total:
            return False
        traceparent = self._traces.of_evaluation(now.committed)
        with tracing.under(traceparent), tracing.span("request", step=now.committed):
            request_evaluation(self._database, self.lease, now.committed, now.version_id, self._tasks.held_out,
                               traceparent)
            self._hint(2 * len(self._tasks.held_out))
        return True

    def _record_evaluation(self, now: View) -> bool:
        if not self._pace.ends(now.open("eval", now.committed)):
            return False
        record_evaluation(self._database, self.lease, now.committed)
        self._evaluated.add(now.committed)
        self._traces.report_evaluation(now.committed)
        return True

    def _expire(self, now: View) -> bool:
        step = now.planned + 1
        if not self._pace.expires(step, now.train):
            return False
        with fenced(self._database, self.lease) as transaction:
            gone = transaction.all("driver.expire_groups", run_id=self.lease.run_id, purpose="train",
                                   oldest=self._pace.oldest(step))
            transaction.run("driver.forget_journal", run_id=self.lease.run_id)
            transaction.run("driver.record_event", tenant_id=self.lease.tenant_id, run_id=self.lease.run_id,
                            kind="expired", step=None, message=expiry(gone), data=expired(gone))
        return True

    def _begin_stage(self, now: View) -> bool:
        """Give up what is left of the stage before, and say which it is now. Nothing runs ahead into a stage."""
        stage = self._next(now).stage
        if now.stage == stage.number or now.committed < stage.first - 1:
            return False
        with fenced(self._database, self.lease) as transaction:
            transaction.run("driver.drop_ahead", run_id=self.lease.run_id)
            transaction.run("driver.forget_journal", run_id=self.lease.run_id)
            transaction.run("driver.begin_stage", run_id=self.lease.run_id, epoch=self.lease.epoch, stage=stage.number)
            transaction.run("driver.record_event", tenant_id=self.lease.tenant_id, run_id=self.lease.run_id,
                            kind="stage", step=stage.first, data="{}",
                            message=f"stage {stage.name} begins: steps {stage.first} to {stage.last}")
        return True

    def _go_on(self, now: View) -> bool:
        if not self._begun(now):
            return False
        if self._next(now).supervises:
            return self._plan_supervised(now)
        return self._request_groups(now) or self._plan_rollouts(now) or self._verify(now)

    def _request_groups(self, now: View) -> bool:
        training = now.planned > now.committed and not self._pace.runs_ahead
        if now.version_id is None or now.unpublished or training:
            return False
        missing = self._pace.room(now.committed, self._next(now).stage.last) - now.train.total
        if missing <= 0:
            return False
        if self._verification.turn(now.planned).kind != "generate":
            return False
        self._request(now, missing)
        return True

    def _plan_rollouts(self, now: View) -> bool:
        step, training = now.planned + 1, self._next(now)
        if not self._pace.plannable(step, now.committed) or self._unevaluated(step - 1):
            return False
        turn = self._verification.turn(now.planned)
        if turn.kind != "generate" or now.unpublished or self._pace.waits(step, now.train):
            return False
        samples = self._ready(step, "train", "generate")
        if "components" in needs(training.slots, "advantage"):
            samples = with_components(samples, self._database.all(
                "driver.reward_components", group_ids=sorted({row["group_id"] for row in samples})))
        states = self._database.one("driver.slot_states", run_id=self.lease.run_id, first=training.stage.first,
                                    n=now.planned)
        size = self._pace.size(step)
        choice = choose(samples, training.slots, size, states["states"] if states else {})
        missing = size - len(choice.kept)
        if missing > 0:
            lacking = min(self._pace.room(now.committed, training.stage.last) - now.train.total + len(choice.filtered),
                          training.most_groups - now.train.total)
            if lacking > 0:  # what the filter leaves out takes nobody's room: others are drawn beside what is slow
                self._request(now, lacking)
                return True
            if now.train.requested:
                return False
        with self._traces.within(step, "plan"):
            plan, metrics = self._planned(step, choice)
            self._write_plan(plan, choice.filtered_ids, metrics, self._verification.collect(turn, choice.samples))
        return True

    def _plan_supervised(self, now: View) -> bool:
        step, training = now.planned + 1, self._next(now)
        if now.version_id is None or step > self._last_plannable(now):
            return False
        begun = training.stage.first
        first, size = self._pace.before(step) - self._pace.before(begun), self._pace.size(step)
        with self._traces.within(step, "plan"):
            part = training.supervised.store_part(training.tasks.train_rows(first, size), first)
            self._write_plan(supervised_plan(training.stage.spec, training.slots, step, part, begun), [], {})
        return True

    def _verify(self, now: View) -> bool:
        turn = self._verification.turn(now.planned)
        if turn.kind == "generate" or now.version_id is None or not self._pace.plannable(turn.step, now.committed):
            return False
        return self._sample(now, turn) if turn.collected is None else self._judge(now, turn.collected)

    def _finish(self, now: View) -> bool:
        if now.committed < self._spec.steps or self._evaluation_pending(now):
            return False
        self._close("succeeded", None, "surplus")
        return True

    def _wait(self, now: View) -> bool:
        if any(count.unclaimed for count in now.counts.values()):
            self._repeat_hint()
        self._tell(situation(now))
        step, training = now.committed + 2 + self._pace.max_staleness, self._next(now)
        if self._begun(now) and not training.supervises and step <= training.stage.last:
            with self._traces.place(step):
                self._prepare(now)
        return False

    # Parts of the above -------------------------------------------------------------------------------------------

    def _prepare(self, now: View) -> None:
        """Have at hand what the next request needs: its tasks, and their rollouts once this step's outcomes are in."""
        step = now.planned + (1 if now.planned > now.committed else 2)
        first, count = self._next_place, self._pace.size(step)
        training = self._next(now)
        tasks = training.tasks.prepare(first, count)
        if now.planned > now.committed and not self._pace.runs_ahead and (first, count) not in self._allocated:
            self._allocated = {(first, count): training.allocation(tasks, step)}

    def _sample(self, now: View, turn: Turn) -> bool:
        """Have answers that are only judged: another batch until some are right and some wrong."""
        groups = now.open("probe", turn.step)
        if groups.requested or now.unpublished:
            return False
        choice = every_group(self._ready(turn.step, "probe", "generate"))
        version = self._verification.collect(turn, choice.samples)
        if version is not None and version.items:
            self._verification.keep(version, choice.samples, self._planned(turn.step, choice)[1])
            return True
        self._verification.allow_more(groups.total)
        self._request(now, self._spec.batch.prompts, "probe")
        return True

    def _judge(self, now: View, collected: Collected) -> bool:
        """Have answers judged, and plan the step that trains the verdicts."""
        step = now.planned + 1
        groups = now.open("train", step)
        if not groups.total:
            with self._traces.within(step, "request", groups=len(collected.items)):
                self._verification.request(step, now.version_id, collected, self._traces.of(step))
                reach("groups.row-hint")
                self._hint(len(collected.items))
            return True
        if groups.requested or self._unevaluated(now.planned):
            return False
        with self._traces.within(step, "plan"):
            choice = every_group(self._ready(step, "train", "verify"))
            plan, metrics = judged(*self._planned(step, choice), collected, choice.samples)
            self._write_plan(plan, [], metrics)
        return True

    def _ready(self, step: int, purpose: str, kind: str) -> list[Row]:
        return self._database.all("driver.ready_samples", run_id=self.lease.run_id, purpose=purpose, kind=kind,
                                  step=step)

    def _planned(self, step: int, choice: Choice) -> tuple[StepPlan, dict[str, float]]:
        training = self._trainings.of(step)
        return rollout_plan(training.stage.spec, training.slots, step, choice, training.baselines(step),
                            training.stage.first)

    def _request(self, now: View, count: int, purpose: str = "train") -> None:
        step, first, training = now.committed + 1, self._next_place, self._next(now)
        del self._next_place  # known again once these are surely in
        with self._traces.place(step):
            tasks = training.tasks.train(first, count)
            rollouts = self._allocated.pop((first, count), None) or training.allocation(tasks, step)
        pinned = None if self._pace.runs_ahead else now.version_id
        with self._traces.within(step, "request", groups=count):
            with fenced(self._database, self.lease) as transaction:
                request_groups(transaction, training.lease, purpose, next_request(transaction, self.lease, purpose),
                               step, pinned, tasks, rollouts, train_sampling(training.lease),
                               traceparent=self._traces.of(step))
            self._next_place = first + count
            reach("groups.row-hint")
            self._hint(count)

    def _pace_metrics(self, transaction: Transaction) -> dict[str, float]:
        """Return how many groups have expired so far, and how long engines had nothing to do since the last plan."""
        expired = transaction.one("driver.expired", run_id=self.lease.run_id)
        return {"groups/expired": float(expired["groups"] if expired else 0), **self._engine_clock.idle(transaction),
                **probe_gap(transaction, self.lease, engine_fresh_s(self._settings.sweep_s))}

    def _write_plan(
        self, plan: StepPlan, filtered: list[int], metrics: dict[str, float], version: Version | None = None
    ) -> None:
        """Write a step's row and its operations, and what comes with it into the run's collection."""
        reach("step.before-row")
        metrics = {**by_kind(plan.kind, metrics), **(version.metrics if version else {})}
        with fenced(self._database, self.lease) as transaction:
            transaction.run(
                "driver.plan_step", run_id=self.lease.run_id, tenant_id=self.lease.tenant_id, n=plan.n,
                epoch=self.lease.epoch, plan=plan.model_dump_json(), dropped_ids=filtered,
                group_ids=[group.group_id for group in plan.groups], traceparent=self._traces.of(plan.n))
            if filtered:
                transaction.run("driver.drop_groups", group_ids=filtered, reason="filtered")
            if version is not None:
                self._verification.store(transaction, version)
            metrics = metrics | self._pace_metrics(transaction) if plan.sampled else metrics
            metrics["batch/prompts"] = float(self._pace.size(plan.n))
            if changed := self._pace.change(plan.n):
                transaction.run("driver.record_event", tenant_id=self.lease.tenant_id, run_id=self.lease.run_id,
                                kind="batch_size", step=plan.n, message=changed, data="{}")
            warn(transaction, self.lease, plan.n, metrics)
            transaction.run("driver.record_metrics", run_id=self.lease.run_id, tenant_id=self.lease.tenant_id,
                            step=plan.n, names=list(metrics), values=list(metrics.values()))
            operations.append(transaction, self.lease.tenant_id, self.lease.model_id,
                              operations.step_operations(self.lease.run_id, plan))
        reach("step.row-hint")

    def _close(self, state: str, reason: str | None, dropped: str) -> None:
        with fenced(self._database, self.lease) as transaction:
            close(transaction, self.lease, state, reason, dropped)

    def _tell(self, situation: str) -> None:
        """Explain a situation that lasts, and take the explanation back once it has changed."""
        if situation != self._seen:
            self._seen, self._seen_at = situation, time.monotonic()
            if self._told is not None:
                self.explain(None)
        elif self._told != situation and time.monotonic() - self._seen_at > self._settings.sweep_s:
            self.explain(situation)

    def _hint(self, groups: int) -> None:
        self._hinted_at = time.monotonic()
        self._hints.send(-(-groups // self._settings.claim_groups))

    def _repeat_hint(self) -> None:
        if time.monotonic() - self._hinted_at > self._settings.sweep_s:
            self._hint(1)

    def _evaluation_pending(self, now: View) -> bool:
        return self._unevaluated(now.committed)

    def _unevaluated(self, step: int) -> bool:
        return eval_due(self._spec.eval, ends(self._spec), step) and step not in self._evaluated

    def _last_plannable(self, now: View) -> int:
        if self._evaluation_pending(now):
            return now.committed
        ahead = range(now.committed + 1, min(now.committed + PLAN_AHEAD, self._next(now).stage.last) + 1)
        due = (step for step in ahead if eval_due(self._spec.eval, ends(self._spec), step))
        return next(due, max(ahead, default=now.committed))

    def _next(self, now: View) -> Training:
        """Return what the next step that is planned belongs to."""
        return self._trainings.of(now.planned + 1)

    def _begun(self, now: View) -> bool:
        return now.stage == self._next(now).stage.number


    @cached_property
    def _evaluated(self) -> set[int]:
        return {row["step"] for row in self._database.all("driver.evaluated", run_id=self.lease.run_id)}

    @cached_property
    def _next_place(self) -> int:
        """The first training task that was not asked for; under this lease nobody else asks."""
        return next_place(self._database, self.lease)

    @cached_property
    def _base_appended(self) -> bool:
        return False
