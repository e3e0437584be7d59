"""A leased run and its driver: look at the rows, decide, perform. `decisions.decide` is the training loop."""

import json
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from hone.algorithms import presets
from hone.algorithms.slots import builder
from hone.catalogue import packages
from hone.crashpoints import reach
from hone.process.heartbeat import engine_fresh_s
from hone.queues.hints import Hints
from hone.resolution.stages import Stage, stages
from hone.spec.settings import Settings
from hone.store.database import Database, Transaction
from hone.store.leases import fenced
from hone.store.objects import Objects
from hone.telemetry import metrics, tracing
from hone.trajectory.plan import by_kind
from services.learner.driver import decisions, manifests, offers, operations, preflight, reasoner_watch
from services.learner.driver.evaluation import record_evaluation, request_evaluation
from services.learner.driver.groups import (
    drop_refused,
    expire,
    next_request,
    record_expiry,
    request_groups,
    train_sampling,
)
from services.learner.driver.judge_gate import DRIFTED, JudgeGate
from services.learner.driver.lease import RunLease, close
from services.learner.driver.limits import Limits, TenantFigures
from services.learner.driver.pacing import Outline
from services.learner.driver.peers import Peers
from services.learner.driver.preferences import Preferences
from services.learner.driver.preflight import PreflightSamples
from services.learner.driver.reporting import (
    EngineClock,
    Event,
    StepTraces,
    WaitingReason,
    probe_gap,
    record_event,
    record_metrics,
    record_once,
    warn_of_gap,
    watch_predictions,
)
from services.learner.driver.rollouts import Rollouts
from services.learner.driver.supervised import SupervisedRows
from services.learner.driver.tasks import Tasks
from services.learner.driver.verification import Verification
from services.learner.driver.view import Memory, View, read_memory, read_view
from services.learner.driver.watch import Watch


class RunDriver:
    """Drives a leased run. Its state is in rows, so that another driver can take the run over at any time."""

    def __init__(
        self, settings: Settings, database: Database, objects: Objects, hints: Hints, peers: Peers, lease: RunLease,
        stop: threading.Event | None = None, tenants: TenantFigures | None = None,
    ) -> None:
        """`stop` is set when the driver is to end: what takes long is given up then.

        `tenants` are the figures that the runs of a driver share; None: it reads its own.
        """
        self.lease = lease
        self._waiting = WaitingReason(database, lease, settings.sweep_s)
        self.watch = Watch(database, lease, self._waiting, stop or threading.Event(), settings.sweep_s)
        self._settings, self._database, self._objects = settings, database, objects
        self._hints, self._hinted_at = hints, 0.0
        self._peers, self._tasks = peers, Tasks(database, objects, peers, lease, self.watch)
        self._outline = Outline.of(lease.spec)
        self._sources = [self._source(stage) for stage in stages(lease.spec)]
        self._decide = decisions.decide if lease.preflight is None else decisions.decide_preflight
        self._gate = JudgeGate.of(database, lease)
        self._memory: Memory | None = None
        self._fresh_s = engine_fresh_s(settings.sweep_s)
        self._engine_clock = EngineClock(lease.model_id, self._fresh_s)
        self._traces = StepTraces(database, lease, settings.telemetry.trace_steps)
        tenants = tenants or TenantFigures(database, settings.sweep_s)
        self._limits = Limits(database, lease, settings.sweep_s, tenants)

    def _source(self, stage: Stage) -> decisions.StepSource:
        lease, slots = replace(self.lease, spec=stage.spec), presets.resolve(stage.spec.algorithm)
        tasks = Tasks(self._database, self._objects, self._peers, lease, self.watch, self._tasks)
        if self.lease.preflight is not None:
            return PreflightSamples(stage, self.lease.preflight, tasks)
        if builder(slots).from_rows:
            return SupervisedRows(stage, self._outline, slots, self._objects, lease, tasks)
        rollouts = Rollouts(stage, self._outline, slots, self._database, self._peers, lease, tasks)
        if builder(slots).judges_answers:
            return Verification(rollouts, self._outline, slots, self._database, self._objects, lease)
        return Preferences(rollouts, slots, self._objects, lease) if builder(slots).makes_pairs else rollouts

    def advance(self) -> bool:
        """Take the next action; return False if the run has to wait. Raises LeaseLost."""
        view = self._look()
        source = self._source_of(view)
        action = self._decide(self._outline, source, view)
        if isinstance(action, decisions.ReadSamples):
            view = replace(view, samples=source.read_samples(action))
            action = self._decide(self._outline, source, view)
        try:
            self._perform(action, source, view)
        except BaseException:
            self._memory = None  # rows may or may not have the action's writes
            raise
        return not isinstance(action, decisions.Wait)

    def explain(self, reason: str) -> None:
        """Write on the run's row what it waits for."""
        self._waiting.write(reason)

    def _look(self) -> View:
        if self._memory is None:
            self._memory = read_memory(self._database, self.lease)
        view = read_view(self._database, self.lease, self._memory)
        self._traces.report(view.committed)
        judge = self._gate.standing(view.planned) if self._gate is not None else None
        limit, left = self._limits.reached(view.committed), self._limits.left
        paid = self._outline.pace.before(view.committed + 1)
        affordable = None if left is None or not paid else math.ceil(left * paid)
        return replace(view, judge=judge, limit=limit, affordable=affordable)

    def _source_of(self, view: View) -> decisions.StepSource:
        """Return the source of the step after the last planned one; beyond the last step, the last source.

        A preflight has the first source that samples, and no step is ever planned.
        """
        if self.lease.preflight is not None:
            return next((one for one in self._sources if not presets.supervised(one.stage.spec.algorithm)),
                        self._sources[-1])
        step = view.planned + 1
        return next((source for source in self._sources if step <= source.stage.last), self._sources[-1])

    # Performing an action -----------------------------------------------------------------------------------------

    def _perform(self, action: decisions.Action, source: decisions.StepSource, view: View) -> None:
        match action:
            case decisions.End():
                self._end(action)
            case decisions.SetState():
                self._set_state(action, view)
            case decisions.PublishBase():
                self._publish_base(view)
            case decisions.DropRefused():
                with fenced(self._database, self.lease) as transaction:
                    drop_refused(transaction, self.lease)
            case decisions.RequestEvaluation() | decisions.RecordEvaluation():
                self._evaluate(action, view)
            case decisions.CheckJudge():
                self._check_judge(action)
            case decisions.Expire(oldest):
                self._expire(oldest)
            case decisions.BeginStage(stage):
                self._begin_stage(stage)
            case decisions.RequestGroups():
                self._request_groups(action, source, view)
            case decisions.Collect():
                self._collect(action)
            case decisions.PlanStep():
                self._plan_step(action, source)
            case decisions.Wait(reason):
                self._wait(reason, source, view)

    def _end(self, action: decisions.End) -> None:
        with fenced(self._database, self.lease) as transaction:
            if action.event is not None:
                record_event(transaction, self.lease, action.event)
            close(transaction, self.lease, action.state, self._reason(action), action.dropped)
        if action.event is not None and action.event.kind == DRIFTED:
            metrics.JUDGES_DRIFTED.inc()

    def _reason(self, action: decisions.End) -> str | None:
        """Return the reason of an end; a failure also names the packages that each process needs."""
        failed = action.state == "failed" and action.reason is not None
        return f"{action.reason}{packages.beside(self.lease.spec.packages)}" if failed else action.reason

    def _set_state(self, action: decisions.SetState, view: View) -> None:
        """Pause the run or let it go on. An event tells of a pause by a limit, and of its end."""
        with fenced(self._database, self.lease) as transaction:
            transaction.run("runs.set_state", run_id=self.lease.run_id, epoch=self.lease.epoch, state=action.state,
                            reason=action.reason)
            if action.reason is not None:
                record_event(transaction, self.lease, Event("limit", f"paused: {action.reason}"))
            elif action.state == "running" and view.reason is not None:
                record_event(transaction, self.lease, Event("limit", f"goes on; it was paused: {view.reason}"))

    def _publish_base(self, view: View) -> None:
        with fenced(self._database, self.lease) as transaction:
            if self.lease.preflight is not None:
                preflight.publish(transaction, self.lease)
            else:
                operations.publish_bases(transaction, self.lease)
        self._memory = replace(view.memory, base_requested=True)

    def _evaluate(self, action: decisions.RequestEvaluation | decisions.RecordEvaluation, view: View) -> None:
        if isinstance(action, decisions.RequestEvaluation):
            self._request_evaluation(action.step, action.version_id)
        else:
            self._record_evaluation(action.step, view)

    def _check_judge(self, action: decisions.CheckJudge) -> None:
        assert self._gate is not None, "its standing asked for the check"
        self._gate.request(action.number, action.step, action.grader)

    def _request_evaluation(self, step: int, version_id: str) -> None:
        traceparent = self._traces.of_evaluation(step)
        with tracing.under(traceparent), tracing.span("request", step=step):
            tasks = self._tasks.held_out
            request_evaluation(self._database, self.lease, step, version_id, tasks, traceparent)
            self._hint(2 * len(tasks))

    def _record_evaluation(self, step: int, view: View) -> None:
        record_evaluation(self._database, self.lease, step)
        self._memory = view.memory.with_evaluated(step)
        self._traces.report_evaluation(step)

    def _expire(self, oldest: int) -> None:
        with fenced(self._database, self.lease) as transaction:
            if gone := expire(transaction, self.lease, "train", oldest):
                record_expiry(transaction, self.lease, gone)

    def _begin_stage(self, stage: Stage) -> None:
        event = Event("stage", f"stage {stage.name} begins: steps {stage.first} to {stage.last}")
        with fenced(self._database, self.lease) as transaction:
            transaction.run("groups.drop_surplus", run_id=self.lease.run_id)
            transaction.run("journal.delete_dropped", run_id=self.lease.run_id)
            transaction.run("runs.begin_stage", run_id=self.lease.run_id, epoch=self.lease.epoch, stage=stage.number)
            record_event(transaction, self.lease, event, stage.first)

    def _request_groups(self, action: decisions.RequestGroups, source: decisions.StepSource, view: View) -> None:
        lease, count = replace(self.lease, spec=source.stage.spec), action.count
        with self._traces.place(action.step):
            made = source.group_request(action)
        with self._traces.within(action.step, "request", groups=count):
            with fenced(self._database, self.lease) as transaction:
                first = next_request(transaction, self.lease, action.purpose)
                request_groups(transaction, lease, action.purpose, first, action.step, action.version_id, made.tasks,
                               made.granted, train_sampling, traceparent=self._traces.of(action.step),
                               kind=made.kind, harness_params=made.harness_params)
            if action.judged is None:
                self._memory = replace(view.memory, next_task=action.first_task + count)
            reach("groups.row-hint")
            self._hint(count)

    def _collect(self, action: decisions.Collect) -> None:
        with fenced(self._database, self.lease) as transaction:
            self._add_version(transaction, action.version)
            transaction.run("groups.use", group_ids=sorted(action.group_ids))
            record_metrics(transaction, self.lease, action.version.number, action.metrics)

    def _plan_step(self, action: decisions.PlanStep, source: decisions.StepSource) -> None:
        """Write a step's row, its metrics and its operations, and the versions of collections that come with it."""
        with self._traces.within(action.step, "plan"):
            planned = reasoner_watch.watched(self._database, source.stage, source.plan(action))
            versions = offers.offered(planned.plan, source.stage.spec, self._objects)
            versions += manifests.due(planned.plan, source.stage, self._database, self._objects, self.lease.run_id)
            versions += [] if planned.version is None else [planned.version]
            reach("step.before-row")
            with fenced(self._database, self.lease) as transaction:
                self._write_plan(transaction, planned, versions)
            reach("step.row-hint")

    def _write_plan(
        self, transaction: Transaction, planned: decisions.PlannedStep, versions: Sequence[decisions.CollectionVersion],
    ) -> None:
        plan, filtered = planned.plan, list(planned.filtered_ids)
        transaction.run(
            "steps.add", run_id=self.lease.run_id, tenant_id=self.lease.tenant_id, n=plan.n,
            epoch=self.lease.epoch, plan=plan.model_dump_json(), dropped_ids=filtered,
            group_ids=[group.group_id for group in plan.groups], traceparent=self._traces.of(plan.n))
        if filtered:
            transaction.run("groups.drop", group_ids=filtered, reason="filtered")
        metrics = {**by_kind(plan.kind, planned.metrics), "batch/prompts": float(self._outline.pace.size(plan.n))}
        for version in versions:
            self._add_version(transaction, version)
            metrics |= version.metrics
        if plan.groups:
            metrics |= self._measured(transaction)
        if self._gate is not None:
            metrics |= self._gate.disagreement(transaction, [group.group_id for group in plan.groups])
        if changed := self._outline.pace.change(plan.n):
            record_event(transaction, self.lease, Event("batch_size", changed), plan.n)
        for event in planned.warnings:
            record_once(transaction, self.lease, event, plan.n)
        warn_of_gap(transaction, self.lease, plan.n, metrics)
        metrics |= watch_predictions(transaction, self.lease, plan.n, metrics)
        record_metrics(transaction, self.lease, plan.n, metrics)
        operations.append(transaction, self.lease.tenant_id, self.lease.model_id,
                          operations.step_operations(self.lease.run_id, plan))

    def _wait(self, reason: str, source: decisions.StepSource, view: View) -> None:
        """Wake workers again if groups are unclaimed, report a reason that lasts, and prepare the next request."""
        if any(count.unclaimed for count in view.counts.values()):
            self._repeat_hint()
        self._waiting.notice(reason)
        if (view.desired, view.state) == ("run", "running") and view.stage == source.stage.number:
            with self._traces.place(view.committed + 2 + self._outline.pace.max_staleness):
                source.prepare(view)

    # Parts of actions ---------------------------------------------------------------------------------------------

    def _add_version(self, transaction: Transaction, version: decisions.CollectionVersion) -> None:
        key = {"run_id": self.lease.run_id, "tenant_id": self.lease.tenant_id, "name": version.name,
               "version": version.number}
        transaction.run("collections.add", **key, state=json.dumps(version.state))
        transaction.run("collections.add_items", **key, bodies=[json.dumps(item) for item in version.items])
        if version.warning is not None:
            record_event(transaction, self.lease, version.warning, version.number)

    def _measured(self, transaction: Transaction) -> dict[str, float]:
        """Return how many groups have expired so far, engines' idle time since the last plan, and the probe's gap."""
        expired = transaction.one("groups.count_expired", run_id=self.lease.run_id)
        return {"groups/expired": float(expired["groups"] if expired else 0), **self._engine_clock.idle(transaction),
                **probe_gap(transaction, self.lease, self._fresh_s)}

    def _hint(self, groups: int) -> None:
        self._hinted_at = time.monotonic()
        self._hints.send(-(-groups // self._settings.claim_groups))

    def _repeat_hint(self) -> None:
        if time.monotonic() - self._hinted_at > self._settings.sweep_s:
            self._hint(1)
