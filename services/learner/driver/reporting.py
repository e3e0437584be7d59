"""Reports of a run about itself: events, spans of its steps, why it waits, idle time of engines, gap on the probe."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hone.store.database import Database, Row, Transaction
from hone.telemetry import logs, tracing
from services.learner.driver.lease import RunLease


@dataclass(frozen=True)
class Event:
    """An event of a run, before it is recorded."""

    kind: str
    message: str
    data: Mapping[str, Any] = field(default_factory=dict)


def record_event(transaction: Transaction, lease: RunLease, event: Event, step: int | None = None) -> None:
    """Record an event for the run's user."""
    transaction.run("events.add_of_step", tenant_id=lease.tenant_id, run_id=lease.run_id, kind=event.kind, step=step,
                    message=event.message, data=json.dumps(event.data))


def record_once(transaction: Transaction, lease: RunLease, event: Event, step: int | None = None) -> None:
    """Record an event, unless the run has one of its kind about the same thing, which its data names as `of`."""
    transaction.run("events.add_once", tenant_id=lease.tenant_id, run_id=lease.run_id, kind=event.kind, step=step,
                    message=event.message, data=json.dumps(event.data), of=event.data["of"])


def record_end(transaction: Transaction, lease: RunLease, warning: str, event: Event, step: int) -> None:
    """Record that a warning of a kind is over, once, if the run has one about the same thing."""
    transaction.run("events.add_end", tenant_id=lease.tenant_id, run_id=lease.run_id, warning=warning, kind=event.kind,
                    step=step, message=event.message, data=json.dumps(event.data), of=event.data["of"])


def record_metrics(transaction: Transaction, lease: RunLease, step: int, metrics: Mapping[str, float]) -> None:
    """Record metrics of a step; a metric that the step has already is left as it is."""
    transaction.run("metrics.record", run_id=lease.run_id, tenant_id=lease.tenant_id, step=step,
                    names=list(metrics), values=list(metrics.values()))


FIRST = 3
"""Number of first steps that are traced in every traced run."""


def traced(n: int, every: int) -> bool:
    """Return whether step `n` is traced: the first steps are, and each multiple of `every`."""
    return 1 <= n <= FIRST or (n > 0 and every > 0 and n % every == 0)


class StepTraces:
    """The spans of a run's steps and evaluations, each from the request of its first group to its end.

    The id of a step's span follows from the run's trace and the step's number. So every process that works for a step
    can name the span before the step is over. The driver that sees the step committed reports it, with times from rows.
    """

    def __init__(self, database: Database, lease: RunLease, every: int) -> None:
        self._database, self._lease, self._every = database, lease, every
        self._root = lease.traceparent if tracing.on() else None
        self._reported: int | None = None

    def of(self, n: int) -> str | None:
        """Return the traceparent of step `n`; None if it is not traced."""
        return tracing.child(self._root, _key(n)) if self._root and traced(n, self._every) else None

    @contextmanager
    def place(self, n: int) -> Iterator[None]:
        """Let spans and log lines within belong to step `n`."""
        with logs.about(step=n), tracing.under(self.of(n)):
            yield

    @contextmanager
    def within(self, n: int, name: str, **attributes: Any) -> Iterator[None]:
        """Record a span, named `name`, of the work within for step `n`."""
        with self.place(n), tracing.span(name, step=n, **attributes):
            yield

    def of_evaluation(self, n: int) -> str | None:
        """Return the traceparent of the evaluation after step `n`; None if it is not traced. That of the base is."""
        return tracing.child(self._root, _evaluation(n)) if self._root and (n == 0 or traced(n, self._every)) else None

    def report_evaluation(self, n: int) -> None:
        """Report the span of the evaluation after step `n`, once that is recorded, if it is traced."""
        if self._root is None or self.of_evaluation(n) is None:
            return
        row = self._database.one("groups.evaluation_times", run_id=self._lease.run_id, n=n)
        if row is not None:
            tracing.report("evaluation", self._root, _evaluation(n), row["requested_at"], row["recorded_at"], step=n,
                           run_id=self._lease.run_id, model_id=self._lease.model_id, groups=row["groups"])

    def report(self, committed: int) -> None:
        """Report the spans of the steps that were committed since the last call. The first call reports none."""
        first, self._reported = self._reported, committed
        if self._root is None or first is None:
            return
        for n in range(first + 1, committed + 1):
            if self.of(n):
                self._report(self._root, n)

    def _report(self, root: str, n: int) -> None:
        row = self._database.one("steps.times", run_id=self._lease.run_id, n=n)
        if row is not None:
            tracing.report("step", root, _key(n), row["requested_at"], row["committed_at"], step=n,
                           run_id=self._lease.run_id, model_id=self._lease.model_id, groups=row["groups"])


def _key(n: int) -> str:
    return f"step {n}"


def _evaluation(n: int) -> str:
    return f"evaluation {n}"


class WaitingReason:
    """The reason on the run's row why it waits. It is written once the same reason has lasted `after_s` seconds."""

    def __init__(self, database: Database, lease: RunLease, after_s: float) -> None:
        self._database, self._lease, self._after_s = database, lease, after_s
        self._seen, self._since = "", time.monotonic()
        self._written: str | None = ""  # what a driver before this one wrote, if any

    def notice(self, reason: str) -> None:
        """Write this reason if it has lasted; take back another that was written."""
        if reason != self._seen:
            self._seen, self._since = reason, time.monotonic()
            if self._written is not None:
                self.write(None)
        elif self._written != reason and time.monotonic() - self._since > self._after_s:
            self.write(reason)

    def write(self, reason: str | None) -> None:
        """Write the reason at once; None while the run does not wait."""
        self._written = reason
        self._database.run("runs.set_waiting_for", run_id=self._lease.run_id, epoch=self._lease.epoch,
                           waiting_for=reason)


class EngineClock:
    """Measures how long engines computed nothing for a model, from one call to the next.

    The first call, and a call after engines came or went, gives no figure. Rows report late what engines computed. Idle
    time that a call finds too much is subtracted from the next calls, so that the sum is right.
    """

    def __init__(self, model_id: str, fresh_s: float) -> None:
        """Only engines that have reported within `fresh_s` seconds count."""
        self._model_id, self._fresh_s = model_id, fresh_s
        self._last: Row | None = None
        self._owed_s = 0.0  # reported as idle, and found to be computed later

    def idle(self, transaction: Transaction) -> dict[str, float]:
        """Return the seconds without a step as a metric, the mean over engines."""
        last, now = self._last, transaction.one("engines.computed_time", model_id=self._model_id, fresh_s=self._fresh_s)
        self._last = now
        if now is None or last is None or not now["engines"] or now["engines"] != last["engines"]:
            self._owed_s = 0.0
            return {}
        passed, computed = now["at"] - last["at"], (now["computed_s"] - last["computed_s"]) / now["engines"]
        idle = passed - computed - self._owed_s
        self._owed_s = max(0.0, -idle)
        return {"engine/idle_s": max(0.0, idle)}


def probe_gap(transaction: Transaction, lease: RunLease, fresh_s: float) -> dict[str, float]:
    """Return the trainer-sampler gap on the probe as metrics, nats, of the engine that is furthest off.

    Only engines that have reported within `fresh_s` seconds count. Without an answered probe there are no metrics.
    """
    row = transaction.one("engines.probe_gap", model_id=lease.model_id, fresh_s=fresh_s)
    if row is None or row["mean"] is None:
        return {}
    return {"gap/probe_mean": row["mean"], "gap/probe_max": row["largest"]}


def warn_of_gap(transaction: Transaction, lease: RunLease, step: int, metrics: dict[str, float]) -> None:
    """Record an alarm if rollouts run ahead and the gap on the probe is above the run's bound.

    In a synchronous run the trainer compares the step's own samples with the bound.
    """
    gap = metrics.get("gap/probe_mean")
    if lease.spec.max_staleness and gap is not None and gap > lease.spec.gap_alarm_nats:
        message = (f"trainer-sampler gap {gap:.4f} nats a token on the probe is above {lease.spec.gap_alarm_nats}: an "
                   "engine does not compute what the trainer does")
        record_event(transaction, lease, Event("alarm", message), step)


LOW_ORDER, LOW_STEPS = 0.55, 20
"""Share of rightly ordered pairs below which predictions say nothing, and steps after which the run raises an alarm."""


def watch_predictions(
    transaction: Transaction, lease: RunLease, step: int, metrics: Mapping[str, float]
) -> dict[str, float]:
    """Return for how many steps in a row predictions have not ordered outcomes, as a metric; at the bound record an
    alarm.

    Steps whose order has no figure neither count nor end the row.
    """
    if "value/auc" not in metrics:
        return {}
    row = transaction.one("metrics.before", run_id=lease.run_id, name="value/low_steps", step=step)
    low = (row["value"] if row else 0.0) + 1 if metrics["value/auc"] < LOW_ORDER else 0.0
    if low == LOW_STEPS:
        message = (f"for {LOW_STEPS} steps predictions of success have ordered less than {LOW_ORDER:.0%} of the pairs "
                   "of a success and a failure rightly: they say nothing of the prompts, and rollouts go by chance")
        record_event(transaction, lease, Event("alarm", message, {"metric": "value/auc"}), step)
    return {"value/low_steps": low}
