"""A log line says what the work is about and where in a trace it stands."""

import json
import logging

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hone.telemetry import logs, tracing


def line(**extra: object) -> dict[str, object]:
    record = logging.makeLogRecord({"name": "hone", "levelname": "INFO", "msg": "said %d", "args": (3,), **extra})
    found: dict[str, object] = json.loads(logs.JsonLines().format(record))
    del found["time"]
    return found


def test_a_line_without_context() -> None:
    assert line() == {"level": "info", "logger": "hone", "message": "said 3"}


def test_a_line_names_its_run_group_and_trace(spans: InMemorySpanExporter) -> None:
    with logs.about(run_id="run_1"), logs.about(group_id=7), tracing.span("work", root=True):
        said = line(fields={"attempt": 2})
    (span,) = spans.get_finished_spans()
    assert said == {"level": "info", "logger": "hone", "message": "said 3", "run_id": "run_1", "group_id": 7,
                    "attempt": 2, "trace_id": f"{span.context.trace_id:032x}",
                    "span_id": f"{span.context.span_id:016x}"}
    assert "run_id" not in line()
