"""A log line has the subject of the work and its place in a trace."""

import asyncio
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


def test_a_line_about_several_names_them_all_and_once_what_they_agree_on() -> None:
    subjects: list[logs.Subject] = [{"run_id": "run_1", "group_id": 7, "step": 3},
                                    {"run_id": "run_1", "group_id": 8, "step": 3}, {"run_id": "run_1", "group_id": 7}]
    with logs.about(request_id="req_1"), logs.about_all(subjects):
        assert line() == {"level": "info", "logger": "hone", "message": "said 3", "run_id": "run_1",
                          "group_ids": [7, 8], "step": 3}
    with logs.about_all([]):
        assert line() == {"level": "info", "logger": "hone", "message": "said 3"}


async def test_a_task_stays_about_its_subject_alone() -> None:
    async def work(run: str) -> bool:
        logs.stay_about({"run_id": run})
        await asyncio.sleep(0)
        return line()["run_id"] == run

    assert all(await asyncio.gather(work("run_1"), work("run_2")))
    assert "run_id" not in line()
