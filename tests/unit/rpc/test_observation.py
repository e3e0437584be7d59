"""Calls between real servers and channels: one trace over the wire, every call counted and logged by how it ended."""

import asyncio
import io
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
import pytest_asyncio
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from prometheus_client import REGISTRY

from hone.api import inference_pb2, inference_pb2_grpc
from hone.rpc import server
from hone.rpc.client import blocking_channel, channel
from hone.rpc.errors import NotFound
from hone.stack import ports
from hone.telemetry import logs, tracing

SERVICE = inference_pb2.DESCRIPTOR.services_by_name["InferenceService"].full_name
TOKEN = "the token of this test"


class Inference(inference_pb2_grpc.InferenceServiceServicer):
    """Answers with what it sees of the trace."""

    async def LoadVersion(self, request: Any, context: Any) -> inference_pb2.LoadVersionResponse:
        if request.version_id == "missing":
            raise NotFound("no such version")
        if request.version_id == "broken":
            raise ZeroDivisionError
        return inference_pb2.LoadVersionResponse(version_id=tracing.current() or "untraced")

    async def GenerateBatch(self, request: Any, context: Any) -> AsyncIterator[inference_pb2.GenerateBatchResponse]:
        for one in request.requests:
            if one.request_id == "forever":
                await asyncio.sleep(60)
            yield inference_pb2.GenerateBatchResponse(responses=[
                inference_pb2.GenerateResponse(request_id=tracing.current() or "untraced")])


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    found = f"127.0.0.1:{ports.pick(1)[0]}"
    inference = Inference()  # type: ignore[abstract]  # the other methods are not asked
    serving = await server.start(found, SERVICE, TOKEN, lambda grpc_server:
                                 inference_pb2_grpc.add_InferenceServiceServicer_to_server(inference, grpc_server))
    yield found
    await serving.stop(0)


@pytest_asyncio.fixture
async def address(spans: InMemorySpanExporter) -> AsyncIterator[str]:  # noqa: ARG001 — traced from its start on
    async with served() as found:
        yield found


@pytest.fixture
def said() -> Iterator[io.StringIO]:
    """The log lines of calls."""
    logger, kept = logging.getLogger("hone.rpc.observation"), io.StringIO()
    handler = logging.StreamHandler(kept)
    handler.setFormatter(logs.JsonLines())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield kept
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


@pytest_asyncio.fixture
async def stub(address: str) -> AsyncIterator[Any]:
    async with channel(address, TOKEN) as opened:
        yield inference_pb2_grpc.InferenceServiceStub(opened)


def load(version: str) -> inference_pb2.LoadVersionRequest:
    return inference_pb2.LoadVersionRequest(model_id="m", version_id=version)


def batch(*ids: str) -> inference_pb2.GenerateBatchRequest:
    return inference_pb2.GenerateBatchRequest(requests=[inference_pb2.GenerateRequest(request_id=one) for one in ids])


async def finished(spans: InMemorySpanExporter, count: int) -> dict[tuple[str, SpanKind], Any]:
    async with asyncio.timeout(10):
        while len(spans.get_finished_spans()) < count:
            await asyncio.sleep(0.01)
    found = {(span.name, span.kind): span for span in spans.get_finished_spans()}
    assert len(found) == len(spans.get_finished_spans()) == count
    return found


def check_chain(found: dict[tuple[str, SpanKind], Any], method: str, seen: str) -> None:
    """The work's span, the call's, the server's, and what its servicer saw."""
    work = found["work", SpanKind.INTERNAL]
    asked, answered = found[method, SpanKind.CLIENT], found[method, SpanKind.SERVER]
    assert asked.parent.span_id == work.context.span_id
    assert answered.parent.span_id == asked.context.span_id
    assert answered.parent.is_remote
    assert seen.startswith(f"00-{work.context.trace_id:032x}-{answered.context.span_id:016x}-")
    assert asked.start_time <= answered.start_time <= answered.end_time
    assert asked.attributes["rpc.response.status_code"] == "OK"


def counted(method: str, code: str) -> float:
    labels = {"service": "InferenceService", "method": method, "code": code}
    return REGISTRY.get_sample_value("hone_rpc_duration_seconds_count", labels) or 0.0


async def test_a_call(stub: Any, spans: InMemorySpanExporter) -> None:
    with tracing.span("work", root=True):
        answer = await stub.LoadVersion(load("v"), timeout=60)
    check_chain(await finished(spans, 3), "InferenceService/LoadVersion", answer.version_id)


async def test_a_call_with_a_stream_of_answers(stub: Any, spans: InMemorySpanExporter) -> None:
    with tracing.span("work", root=True):
        answers = [answer async for answer in stub.GenerateBatch(batch("a", "b"), timeout=60)]
    seen = {one.request_id for answer in answers for one in answer.responses}
    assert len(seen) == 1
    check_chain(await finished(spans, 3), "InferenceService/GenerateBatch", seen.pop())


async def test_a_call_of_a_synchronous_caller(address: str, spans: InMemorySpanExporter) -> None:
    def ask() -> str:
        with blocking_channel(address, TOKEN) as opened, tracing.span("work", root=True):
            return str(inference_pb2_grpc.InferenceServiceStub(opened).LoadVersion(load("v"), timeout=60).version_id)

    seen = await asyncio.to_thread(ask)
    check_chain(await finished(spans, 3), "InferenceService/LoadVersion", seen)


async def test_a_synchronous_caller_gets_a_refusal(address: str, spans: InMemorySpanExporter) -> None:
    def ask() -> grpc.RpcError:
        with blocking_channel(address, TOKEN) as opened, pytest.raises(grpc.RpcError) as raised:
            inference_pb2_grpc.InferenceServiceStub(opened).LoadVersion(load("missing"), timeout=60)
        return raised.value

    error = await asyncio.to_thread(ask)
    assert (error.code(), error.details()) == (grpc.StatusCode.NOT_FOUND, "no such version")
    assert spans.get_finished_spans() == ()


async def test_work_that_is_not_traced_has_no_span_and_is_counted(stub: Any, spans: InMemorySpanExporter) -> None:
    before = counted("LoadVersion", "OK")
    assert (await stub.LoadVersion(load("v"), timeout=60)).version_id == "untraced"
    assert spans.get_finished_spans() == ()
    assert counted("LoadVersion", "OK") == before + 1


@pytest.mark.parametrize(("version", "code"), [("missing", "NOT_FOUND"), ("broken", "UNKNOWN")])
async def test_a_call_that_fails(version: str, code: str, stub: Any, spans: InMemorySpanExporter) -> None:
    before = counted("LoadVersion", code)
    with tracing.span("work", root=True), pytest.raises(grpc.aio.AioRpcError) as raised:
        await stub.LoadVersion(load(version), timeout=60)
    assert raised.value.code().name == code
    found = await finished(spans, 3)
    for kind in (SpanKind.CLIENT, SpanKind.SERVER):
        assert found["InferenceService/LoadVersion", kind].status.status_code is StatusCode.ERROR
    assert counted("LoadVersion", code) == before + 1


async def test_a_stream_that_its_caller_leaves(stub: Any, spans: InMemorySpanExporter) -> None:
    before = counted("GenerateBatch", "CANCELLED")
    with tracing.span("work", root=True):
        call = stub.GenerateBatch(batch("a", "forever"), timeout=60)
        async for _ in call:
            break
        call.cancel()
    await finished(spans, 3)
    assert counted("GenerateBatch", "CANCELLED") == before + 1


async def test_the_batch_is_linked_to_its_callers(stub: Any, spans: InMemorySpanExporter) -> None:
    places = []
    for name in ("a", "b"):
        with tracing.span(name, root=True):
            places.append(tracing.here())
    with tracing.together(places):
        await stub.LoadVersion(load("v"), timeout=60)
    found = {span.name: span for span in (await finished(spans, 4)).values() if span.kind is not SpanKind.SERVER}
    asked = found["InferenceService/LoadVersion"]
    assert asked.parent.span_id == found["a"].context.span_id
    assert [link.context.span_id for link in asked.links] == [found["b"].context.span_id]


def lines(said: io.StringIO) -> list[dict[str, Any]]:
    """Return the log lines without time and duration."""
    return [{name: value for name, value in json.loads(line).items() if name not in ("time", "seconds")}
            for line in said.getvalue().splitlines()]


async def test_a_line_of_a_call_names_its_run_and_its_trace(
    stub: Any, spans: InMemorySpanExporter, said: io.StringIO
) -> None:
    with tracing.span("work", root=True), logs.about(run_id="run_1", group_id=7, step=3):
        await stub.LoadVersion(load("v"), timeout=60)
    await stub.LoadVersion(load("v"), timeout=60)  # untraced, and went well: no line
    found = await finished(spans, 3)
    answered = found["InferenceService/LoadVersion", SpanKind.SERVER].context
    ended = {"level": "info", "logger": "hone.rpc.observation", "message": "InferenceService/LoadVersion OK"}
    assert lines(said) == [{**ended, "run_id": "run_1", "group_id": 7, "step": 3,
                            "trace_id": f"{answered.trace_id:032x}", "span_id": f"{answered.span_id:016x}"}]


async def test_a_line_of_a_stream_names_all_it_is_about(stub: Any, said: io.StringIO) -> None:
    groups = [{"run_id": "run_1", "group_id": 7}, {"run_id": "run_2", "group_id": 8}]
    with tracing.span("work", root=True), logs.about_all(groups):
        assert [answer async for answer in stub.GenerateBatch(batch("a", "b"), timeout=60)]
    (line,) = lines(said)
    assert (line["message"], line["run_ids"], line["group_ids"]) == (
        "InferenceService/GenerateBatch OK", ["run_1", "run_2"], [7, 8])


async def test_a_line_of_a_synchronous_callers_call_names_its_run(address: str, said: io.StringIO) -> None:
    def ask() -> None:
        with (blocking_channel(address, TOKEN) as opened, tracing.span("work", root=True),
              logs.about(run_id="run_1", step=4)):
            inference_pb2_grpc.InferenceServiceStub(opened).LoadVersion(load("v"), timeout=60)

    await asyncio.to_thread(ask)
    (line,) = lines(said)
    assert (line["run_id"], line["step"]) == ("run_1", 4)


@pytest.mark.parametrize(("version", "level", "message"), [
    ("missing", "warning", "InferenceService/LoadVersion NOT_FOUND: no such version"),
    ("broken", "error", "InferenceService/LoadVersion UNKNOWN")])
async def test_a_line_of_a_call_that_fails_says_why_and_for_whom(
    version: str, level: str, message: str, stub: Any, said: io.StringIO
) -> None:
    with logs.about(run_id="run_1"), pytest.raises(grpc.aio.AioRpcError):
        await stub.LoadVersion(load(version), timeout=60)
    (line,) = lines(said)
    assert (line["level"], line["message"], line["run_id"]) == (level, message, "run_1")
    assert ("ZeroDivisionError" in line.get("exception", "")) == (version == "broken")


async def test_a_line_of_a_stream_that_its_caller_leaves(stub: Any, said: io.StringIO) -> None:
    with tracing.span("work", root=True), logs.about(run_id="run_1"):
        call = stub.GenerateBatch(batch("a", "forever"), timeout=60)
        async for _ in call:
            break
        call.cancel()
    async with asyncio.timeout(10):
        while not said.getvalue():
            await asyncio.sleep(0.01)
    assert [(line["message"], line["run_id"]) for line in lines(said)] == [
        ("InferenceService/GenerateBatch CANCELLED", "run_1")]


async def ask(address: str, blocking: bool) -> None:
    """Call a method that fails."""
    if blocking:
        with blocking_channel(address, TOKEN) as opened:
            await asyncio.to_thread(
                inference_pb2_grpc.InferenceServiceStub(opened).LoadVersion, load("missing"), timeout=60)
    async with channel(address, TOKEN) as opened_too:
        await inference_pb2_grpc.InferenceServiceStub(opened_too).LoadVersion(load("missing"), timeout=60)


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_line_of_a_call_that_fails_names_its_run_where_nothing_is_traced(
    blocking: bool, said: io.StringIO
) -> None:
    async with served() as found:
        with logs.about(run_id="run_1"), pytest.raises(grpc.RpcError):
            await ask(found, blocking)
    (line,) = lines(said)
    assert (line["level"], line["run_id"]) == ("warning", "run_1")
    assert "trace_id" not in line
