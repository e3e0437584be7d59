"""The border of a server: who may call it, and what it answers to bytes that are no message."""

import logging
from collections.abc import AsyncIterator
from typing import Any, cast

import grpc
import pytest
import pytest_asyncio
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status
from psycopg import DataError

from hone.api import inference_pb2, inference_pb2_grpc
from hone.rpc import credential, server
from hone.rpc.client import channel
from hone.rpc.errors import Unanswered
from hone.stack import ports

SERVICE = inference_pb2.DESCRIPTOR.services_by_name["InferenceService"].full_name
TOKEN = "the-token-of-this-test"
GARBAGE = b"\xff\xff\xff"


class Inference(inference_pb2_grpc.InferenceServiceServicer):
    def __init__(self) -> None:
        self.asked = 0

    async def Pause(self, request: Any, context: Any) -> inference_pb2.PauseResponse:
        self.asked += 1
        if request.model_id == "away":
            raise Unanswered("nobody answers")
        if "\0" in request.model_id:
            raise DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
        return inference_pb2.PauseResponse()

    async def GenerateStream(self, request: Any, context: Any) -> AsyncIterator[inference_pb2.GenerateStreamResponse]:
        yield inference_pb2.GenerateStreamResponse()


@pytest.fixture
def inference() -> Inference:
    return Inference()  # type: ignore[abstract]


@pytest_asyncio.fixture
async def address(inference: Inference) -> AsyncIterator[str]:
    found = f"127.0.0.1:{ports.pick(1)[0]}"
    serving = await server.start(found, SERVICE, TOKEN, lambda grpc_server:
                                 inference_pb2_grpc.add_InferenceServiceServicer_to_server(inference, grpc_server))
    yield found
    await serving.stop(0)


async def _code(call: Any) -> grpc.StatusCode:
    try:
        if hasattr(call, "__await__"):
            await call
        else:
            [answer async for answer in call]
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


@pytest.mark.parametrize(("token", "code"), [
    (TOKEN, grpc.StatusCode.OK), ("", grpc.StatusCode.UNAUTHENTICATED), (TOKEN[:-1], grpc.StatusCode.UNAUTHENTICATED),
    (TOKEN + "x", grpc.StatusCode.UNAUTHENTICATED)])
async def test_a_call_shows_the_stacks_token(address: str, token: str, code: grpc.StatusCode) -> None:
    async with channel(address, token) as opened:
        stub: Any = inference_pb2_grpc.InferenceServiceStub(opened)
        assert await _code(stub.Pause(inference_pb2.PauseRequest())) == code
        assert await _code(stub.GenerateStream(inference_pb2.GenerateStreamRequest())) == code


async def test_without_the_token_no_contract_is_shown(address: str) -> None:
    async with grpc.aio.insecure_channel(address) as opened:
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(opened)
        assert await _code(stub.ServerReflectionInfo(_listing())) == grpc.StatusCode.UNAUTHENTICATED
        answered = [answer async for answer in stub.ServerReflectionInfo(
            _listing(), metadata=((credential.HEADER, TOKEN),))]
    assert SERVICE in {one.name for one in answered[0].list_services_response.service}


async def _listing() -> AsyncIterator[Any]:
    yield reflection_pb2.ServerReflectionRequest(list_services="")


async def test_health_needs_no_token(address: str) -> None:
    async with grpc.aio.insecure_channel(address) as opened:
        stub: Any = health_pb2_grpc.HealthStub(opened)
        assert (await stub.Check(health_pb2.HealthCheckRequest(service=SERVICE))).status == 1
        watching = stub.Watch(health_pb2.HealthCheckRequest(service=SERVICE), timeout=60)
        assert (await watching.read()).status == 1
        watching.cancel()


@pytest.mark.parametrize("kind", ["unary_unary", "unary_stream", "stream_stream"])
async def test_bytes_that_are_no_message_are_refused_without_a_traceback(
    address: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    method = {"unary_unary": f"/{SERVICE}/Pause", "unary_stream": f"/{SERVICE}/GenerateStream",
              "stream_stream": "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"}[kind]
    async with grpc.aio.insecure_channel(address) as opened:
        shown = ((credential.HEADER, TOKEN),)
        call = getattr(opened, kind)(method)(_garbage() if kind == "stream_stream" else GARBAGE, metadata=shown)
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await call if kind == "unary_unary" else [answer async for answer in call]
    assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    status, detail = rpc_status.from_call(cast(Any, raised.value)), error_details_pb2.BadRequest()
    assert status is not None
    assert status.details[0].Unpack(detail)
    assert detail.field_violations[0].field == "request"
    assert not [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]


async def _garbage() -> AsyncIterator[bytes]:
    yield GARBAGE


async def test_a_server_needs_a_token() -> None:
    with pytest.raises(ValueError, match="found nothing"):
        await server.start("127.0.0.1:0", SERVICE, "", lambda _: None)


async def test_a_call_that_asked_an_endpoint_in_vain_is_not_repeated_by_its_channel(
    address: str, inference: Inference,
) -> None:
    async with channel(address, TOKEN) as opened:
        stub: Any = inference_pb2_grpc.InferenceServiceStub(opened)
        assert await _code(stub.Pause(inference_pb2.PauseRequest(model_id="away"))) == grpc.StatusCode.UNAVAILABLE
    assert inference.asked == 1


async def test_a_text_that_the_database_cannot_hold_is_named(address: str) -> None:
    async with channel(address, TOKEN) as opened:
        stub: Any = inference_pb2_grpc.InferenceServiceStub(opened)
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await stub.Pause(inference_pb2.PauseRequest(model_id="mdl\0"))
    assert failed.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert str(failed.value.details()) == "model_id: found 'mdl\\x00', expected text without NUL characters"
