"""Hints wake a real worker on each broker and carry a trace. Other messages do no harm, and no message is needed."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from kombu import Producer

from hone.queues import application
from hone.queues.hints import Hints
from hone.queues.topology import CLAIM_ROLLOUTS, DEAD_ROLLOUTS, ROLLOUTS
from hone.spec.settings import Settings
from hone.telemetry import tracing
from tests.integration.rollout.conftest import open_worker, peers, run, settings  # noqa: F401 — fixtures
from tests.integration.rollout.processes import WorkerProcess
from tests.integration.rollout.rows import Run
from tests.servers import collector as collectors
from tests.servers.collector import Collector

CONSUMER = 5  # opentelemetry.proto.trace.v1.Span.SpanKind
MALFORMED: dict[str, dict[str, Any]] = {
    "not JSON": {"body": b"\x00 no", "content_type": "application/json", "content_encoding": "utf-8",
                 "headers": {"task": CLAIM_ROLLOUTS, "id": "1", "lang": "py"}},
    "pickled": {"body": b"\x80\x04.", "content_type": "application/x-python-serialize", "content_encoding": "binary",
                "headers": {"task": CLAIM_ROLLOUTS, "id": "2", "lang": "py"}},
    "unknown task": {"body": b"[[], {}, {}]", "content_type": "application/json", "content_encoding": "utf-8",
                     "headers": {"task": "rollouts.destroy", "id": "3", "lang": "py"}},
    "extra arguments": {"body": b"[[1, 2], {\"x\": 3}, {}]", "content_type": "application/json",
                        "content_encoding": "utf-8", "headers": {"task": CLAIM_ROLLOUTS, "id": "4", "lang": "py"}},
    "no headers": {"body": b"{}", "content_type": "application/json", "content_encoding": "utf-8", "headers": {}},
}


@pytest.fixture(params=["folder", "rabbitmq"])
def broker_settings(request: pytest.FixtureRequest, settings: Settings) -> Settings:  # noqa: F811
    if request.param == "folder":
        return settings
    return settings.model_copy(update={"broker_url": request.getfixturevalue("rabbitmq_url")})


@pytest.fixture
def connection(broker_settings: Settings) -> Any:
    """The broker with empty queues."""
    with application.create(broker_settings).connection_for_write() as found:
        application.declare(found)
        for queue in (ROLLOUTS, DEAD_ROLLOUTS):
            queue(found.default_channel).purge()
        yield found


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collectors.running() as found:
        yield found


@pytest.fixture
def driver_traces(collector: Collector) -> Iterator[None]:
    """This process sends spans, as a driver."""
    tracing.configure(collector.url, "driver", "driver-0")
    yield
    tracing.use(None)


@pytest_asyncio.fixture
async def worker(broker_settings: Settings, connection: Any, run: Run, collector: Collector,  # noqa: F811
                 tmp_path: Path) -> AsyncIterator[WorkerProcess]:
    """A worker that has looked at the rows once and now waits for hints."""
    assert waiting(connection, ROLLOUTS) == 0
    telemetry = broker_settings.telemetry.model_copy(update={"otlp_endpoint": collector.url})
    traced = broker_settings.model_copy(update={"telemetry": telemetry})
    found = await WorkerProcess.start(traced, tmp_path)
    try:
        run.request(1)
        Hints(broker_settings).send(1)
        await ready(run, 1)
        await taken(connection)
        yield found
        assert await found.stop() == 0
    finally:
        found.kill()


async def taken(connection: Any) -> None:
    """Wait until the worker has handled the hint, so that it cannot find rows that are added later."""
    async with asyncio.timeout(60):
        while waiting(connection, ROLLOUTS):
            await asyncio.sleep(0.05)
    await asyncio.sleep(1)


async def ready(run: Run, count: int) -> None:  # noqa: F811
    async with asyncio.timeout(60):
        while run.states().count("ready") < count:
            await asyncio.sleep(0.05)


def waiting(connection: Any, queue: Any) -> int:
    return int(queue(connection.default_channel).queue_declare(passive=True).message_count)


@pytest.mark.usefixtures("worker")
async def test_a_hint_wakes_a_worker(broker_settings: Settings, run: Run) -> None:  # noqa: F811
    run.request(3, first=1)
    assert Hints(broker_settings).send(2) == 2
    await ready(run, 4)


@pytest.mark.usefixtures("worker", "driver_traces")
async def test_a_trace_goes_on_through_the_queue(
        broker_settings: Settings, collector: Collector, run: Run) -> None:  # noqa: F811
    run.request(1, first=1)
    with tracing.span("request", root=True):
        trace_id = tracing.ids()["trace_id"]
        Hints(broker_settings).send(1)
    await ready(run, 2)
    async with asyncio.timeout(30):
        while len(collector.spans(trace_id)) < 2:
            await asyncio.sleep(0.05)
    asked, claimed = sorted(collector.spans(trace_id), key=lambda span: span.began)
    assert (asked.service, asked.name) == ("driver", "request")
    assert (claimed.service, claimed.name, claimed.kind) == ("rollout", "claim", CONSUMER)
    assert claimed.parent_id == asked.span_id


@pytest.mark.usefixtures("worker")
async def test_purging_every_message_costs_only_time(
        broker_settings: Settings, connection: Any, run: Run) -> None:  # noqa: F811
    run.request(2, first=1)
    await asyncio.sleep(0.5)
    assert run.states().count("ready") == 1  # the worker got no message
    Hints(broker_settings).send(5)
    ROLLOUTS(connection.default_channel).purge()
    Hints(broker_settings).send(1)
    await ready(run, 3)


async def test_a_message_that_is_no_hint_is_a_dead_letter(
        broker_settings: Settings, connection: Any, worker: WorkerProcess, run: Run) -> None:  # noqa: F811
    producer = Producer(connection.default_channel)
    for message in MALFORMED.values():
        producer.publish(message["body"], exchange="", routing_key="rollouts", headers=message["headers"],
                         content_type=message["content_type"], content_encoding=message["content_encoding"])
    async with asyncio.timeout(60):
        while waiting(connection, DEAD_ROLLOUTS) < len(MALFORMED):
            await asyncio.sleep(0.05)
    run.request(1, first=1)
    Hints(broker_settings).send(1)
    await ready(run, 2)
    assert worker.process.returncode is None
    assert waiting(connection, ROLLOUTS) == 0
    troubles = [line for line in worker.lines() if line["level"] in {"warning", "error", "critical"}]
    assert len(troubles) >= len(MALFORMED)
