"""Which steps and evaluations of a run are traced, and the span of each: from its first group's request to its end."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hone.store.database import Database
from hone.telemetry import logs, tracing
from services.learner.driver.lease import RunLease

FIRST = 3
"""So many steps of every traced run are traced."""


def traced(n: int, every: int) -> bool:
    """Tell whether step `n` is traced: the first ones, then each multiple of `every`."""
    return 1 <= n <= FIRST or (n > 0 and every > 0 and n % every == 0)


class StepTraces:
    """A step's span has an id that follows from the run's trace and its number, so that whoever works for the step can
    name it before it is over; the driver that sees it committed reports it, with its times as rows have them.
    """

    def __init__(self, database: Database, lease: RunLease, every: int) -> None:
        self._database, self._lease, self._every = database, lease, every
        self._root = lease.traceparent if tracing.on() else None
        self._reported: int | None = None

    def of(self, n: int) -> str | None:
        """Return the traceparent of step `n`; None where it is not traced."""
        return tracing.child(self._root, _key(n)) if self._root and traced(n, self._every) else None

    @contextmanager
    def place(self, n: int) -> Iterator[None]:
        """Let what is done within belong to step `n`, in log lines too."""
        with logs.about(step=n), tracing.under(self.of(n)):
            yield

    @contextmanager
    def within(self, n: int, name: str, **attributes: Any) -> Iterator[None]:
        """Span what is done within for step `n`."""
        with self.place(n), tracing.span(name, step=n, **attributes):
            yield

    def of_evaluation(self, n: int) -> str | None:
        """Return the traceparent of the evaluation after step `n`; None where neither that is traced nor `n` is 0."""
        return tracing.child(self._root, _evaluation(n)) if self._root and (n == 0 or traced(n, self._every)) else None

    def report_evaluation(self, n: int) -> None:
        """Report the evaluation after step `n`, which has been recorded, if it is traced."""
        if self._root is None or self.of_evaluation(n) is None:
            return
        row = self._database.one("driver.evaluation_times", run_id=self._lease.run_id, n=n)
        if row is not None:
            tracing.report("evaluation", self._root, _evaluation(n), row["requested_at"], row["recorded_at"], step=n,
                           run_id=self._lease.run_id, model_id=self._lease.model_id, groups=row["groups"])

    def report(self, committed: int) -> None:
        """Report the steps that were committed since the last look; the first look reports none."""
        first, self._reported = self._reported, committed
        if self._root is None or first is None:
            return
        for n in range(first + 1, committed + 1):
            if self.of(n):
                self._report(self._root, n)

    def _report(self, root: str, n: int) -> None:
        row = self._database.one("driver.step_times", run_id=self._lease.run_id, n=n)
        if row is not None:
            tracing.report("step", root, _key(n), row["requested_at"], row["committed_at"], step=n,
                           run_id=self._lease.run_id, model_id=self._lease.model_id, groups=row["groups"])


def _key(n: int) -> str:
    return f"step {n}"


def _evaluation(n: int) -> str:
    return f"evaluation {n}"
