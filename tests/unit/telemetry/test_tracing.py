"""Spans are made in traces only, and a trace goes on from a traceparent."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from hone.telemetry import tracing

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"


def found(spans: InMemorySpanExporter) -> dict[str, tuple[str, str]]:
    """Return (trace id, parent id) by name."""
    return {span.name: (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}" if span.parent else "")
            for span in spans.get_finished_spans()}


def test_without_a_collector_nothing_is_traced() -> None:
    assert not tracing.on()
    with tracing.under(PARENT), tracing.span("work", root=True) as span, tracing.together([None]):
        assert (span, tracing.current(), tracing.here(), tracing.ids()) == (None, None, None, {})


def test_without_a_trace_there_is_no_span_except_at_a_root(spans: InMemorySpanExporter) -> None:
    with tracing.span("work") as span:
        assert span is None
    with tracing.span("request", root=True), tracing.span("work"):
        pass
    assert sorted(found(spans)) == ["request", "work"]
    assert found(spans)["request"][1] == ""


def test_a_trace_goes_on_from_a_text(spans: InMemorySpanExporter) -> None:
    with tracing.under(PARENT), tracing.span("outer"):
        carried = tracing.current()
        assert tracing.ids()["trace_id"] == TRACE
    assert carried is not None
    with tracing.under(carried), tracing.span("inner"):
        pass
    assert found(spans) == {"outer": (TRACE, SPAN), "inner": (TRACE, carried.split("-")[2])}


@pytest.mark.parametrize("text", [None, 7, "", "nonsense", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{SPAN}-00"])
def test_a_text_that_is_no_traceparent_ends_the_present_trace(text: object, spans: InMemorySpanExporter) -> None:
    with tracing.span("request", root=True), tracing.under(text), tracing.span("work"):
        assert tracing.current() is None
    assert sorted(found(spans)) == ["request"]


def test_together_the_first_place_is_the_parent_and_the_others_are_links(spans: InMemorySpanExporter) -> None:
    places: list[tracing.Place | None] = [None]
    for name in ("a", "b", "c"):
        with tracing.under(PARENT), tracing.span(name):
            places.append(tracing.here())
    with tracing.together(places), tracing.span("batch"), tracing.span("part"):
        pass
    by_name: dict[str, Any] = {span.name: span for span in spans.get_finished_spans()}
    ids = {name: span.context.span_id for name, span in by_name.items()}
    assert by_name["batch"].parent.span_id == ids["a"]
    assert [link.context.span_id for link in by_name["batch"].links] == [ids["b"], ids["c"]]
    assert by_name["part"].links == ()


def test_together_without_a_traced_place_leaves_the_present_trace(spans: InMemorySpanExporter) -> None:
    with tracing.span("request", root=True), tracing.together([None, None]), tracing.span("work") as span:
        assert span is None
    assert sorted(found(spans)) == ["request"]


def test_a_span_that_is_reported_later_is_the_one_its_children_named(spans: InMemorySpanExporter) -> None:
    step = tracing.child(PARENT, "step 3")
    assert step == tracing.child(PARENT, "step 3") != tracing.child(PARENT, "step 4")
    with tracing.under(step), tracing.span("group"):
        pass
    began, ended = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC), datetime(2026, 1, 2, 3, 4, 7, 0, UTC)
    tracing.report("step", PARENT, "step 3", began, ended, step=3)
    group, reported = cast("tuple[Any, Any]", spans.get_finished_spans())
    assert group.parent.span_id == reported.context.span_id
    assert found(spans)["step"] == (TRACE, SPAN)
    assert (reported.start_time, reported.end_time) == (1767323045678901000, 1767323047000000000)
    assert dict(reported.attributes) == {"step": 3}


def test_a_failure_is_recorded_and_raised(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="no"), tracing.span("work", root=True):
        raise ValueError("no")
    (span,) = spans.get_finished_spans()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "ValueError: no")
