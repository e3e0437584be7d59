"""Which steps are traced, and the spans that a driver reports of them."""

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hone.store.database import Database
from hone.telemetry import logs, tracing
from services.learner.driver.lease import RunLease
from services.learner.driver.reporting import StepTraces, traced

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class Rows:
    """A database in which every step took a second."""

    @contextmanager
    def transaction(self) -> Any:
        yield self

    def one(self, name: str, run_id: str, n: int) -> dict[str, Any]:
        ended = {"steps.times": "committed_at", "groups.evaluation_times": "recorded_at"}[name]
        assert run_id == "run_1"
        began = BEGAN + timedelta(seconds=n)
        return {"requested_at": began, ended: began + timedelta(seconds=1), "groups": 16}


def traces(every: int, traceparent: str | None = PARENT) -> StepTraces:
    lease = RunLease("run_1", "ten_1", "mdl_1", 1, cast(Any, None), traceparent)
    return StepTraces(cast(Database, Rows()), lease, every)


@pytest.mark.parametrize(("every", "steps"), [(50, [1, 2, 3, 50, 100]), (0, [1, 2, 3]), (40, [1, 2, 3, 40, 80])])
def test_the_first_steps_and_then_some(every: int, steps: list[int]) -> None:
    assert [n for n in range(-1, 111) if traced(n, every)] == steps


def test_every_step() -> None:
    assert all(traced(n, 1) for n in range(1, 100))


@pytest.mark.usefixtures("spans")
def test_a_run_that_is_not_traced_has_no_traced_step() -> None:
    assert traces(1, None).of(1) is None


def test_without_a_collector_no_step_is_traced() -> None:
    assert traces(1).of(1) is None


def test_a_committed_step_is_reported_once_under_the_run(spans: InMemorySpanExporter) -> None:
    reported = traces(0)
    with reported.within(3, "request"):
        request = tracing.current()
    for committed in (0, 0, 2, 2, 5):
        reported.report(committed)
    steps = [span for span in spans.get_finished_spans() if span.name == "step"]
    assert [dict(span.attributes or {})["step"] for span in steps] == [1, 2, 3]
    assert all(span.parent is not None and f"{span.parent.span_id:016x}" in PARENT for span in steps)
    (asked,) = (span for span in spans.get_finished_spans() if span.name == "request")
    assert asked.parent is not None
    assert asked.parent.span_id == steps[2].context.span_id
    assert request is not None


def test_a_driver_that_takes_a_run_over_reports_steps_from_then_on(spans: InMemorySpanExporter) -> None:
    reported = traces(1)
    reported.report(7)
    reported.report(8)
    assert [dict(span.attributes or {})["step"] for span in spans.get_finished_spans()] == [8]


def test_evaluations_of_the_base_and_after_traced_steps_are_reported_beside_the_steps(
    spans: InMemorySpanExporter,
) -> None:
    reported = traces(0)
    assert [n for n in range(9) if reported.of_evaluation(n)] == [0, 1, 2, 3]
    named = [reported.of_evaluation(n) for n in (0, 2)]
    assert reported.of(2) not in named
    for n in (0, 2, 7):
        reported.report_evaluation(n)
    found = [span for span in spans.get_finished_spans() if span.name == "evaluation"]
    assert [dict(span.attributes or {})["step"] for span in found] == [0, 2]
    assert all(f"{span.context.span_id:016x}" in str(place) for span, place in zip(found, named, strict=True))
    assert all(span.parent is not None and f"{span.parent.span_id:016x}" in PARENT for span in found)


def test_lines_of_work_for_a_step_name_it_whether_it_is_traced_or_not() -> None:
    untraced = traces(every=0, traceparent=None)
    with logs.about(run_id="run_1"), untraced.place(40):
        assert logs.subject() == {"run_id": "run_1", "step": 40}
    with untraced.within(41, "plan"):
        assert logs.subject() == {"step": 41}
