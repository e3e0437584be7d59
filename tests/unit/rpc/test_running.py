"""Ends of calls that callers tell apart: the server's memory is over, or the message is longer than may be."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from hone.api import inference_pb2, inference_pb2_grpc
from hone.process.memory import MemoryEnd, MemoryLimit
from hone.rpc import errors, server
from hone.rpc.client import channel
from hone.stack import ports

SERVICE, TOKEN = inference_pb2.DESCRIPTOR.services_by_name["InferenceService"].full_name, "token"
END = MemoryEnd("inference", "its memory was 2100 MiB, expected at most 2048 (HONE_MEMORY_MB)")


class Slow(inference_pb2_grpc.InferenceServiceServicer):
    def __init__(self) -> None:
        self.begun = 0

    async def Pause(self, request: Any, context: Any) -> inference_pb2.PauseResponse:
        self.begun += 1
        await asyncio.sleep(60)
        return inference_pb2.PauseResponse()

    async def GenerateStream(self, request: Any, context: Any) -> AsyncIterator[inference_pb2.GenerateStreamResponse]:
        yield inference_pb2.GenerateStreamResponse()
        self.begun += 1  # the answer is sent: grpc may send no status behind one whose sending is cancelled
        await asyncio.sleep(60)


async def _failure(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as found:
        await (call if hasattr(call, "__await__") else _all(call))
    return found.value


async def _all(answers: AsyncIterator[Any]) -> list[Any]:
    return [answer async for answer in answers]


async def test_callers_of_running_calls_learn_that_the_memory_is_over() -> None:
    slow, memory = Slow(), MemoryLimit("inference", 2048, "HONE_MEMORY_MB")  # type: ignore[abstract]
    address = f"127.0.0.1:{ports.pick(1)[0]}"
    serving = await server.start(address, SERVICE, TOKEN, lambda grpc_server:
                                 inference_pb2_grpc.add_InferenceServiceServicer_to_server(slow, grpc_server),
                                 memory=memory)
    async with channel(address, TOKEN) as opened:
        stub: Any = inference_pb2_grpc.InferenceServiceStub(opened)
        calls = [asyncio.create_task(_failure(stub.Pause(inference_pb2.PauseRequest()))),
                 asyncio.create_task(_failure(stub.GenerateStream(inference_pb2.GenerateStreamRequest())))]
        while slow.begun < len(calls):
            await asyncio.sleep(0.01)
        await asyncio.to_thread(memory.before_end, END)
        async with asyncio.timeout(60):
            found = await asyncio.gather(*calls)
        assert [errors.memory_end(error) for error in found] == [END, END]
        late = await _failure(stub.GenerateStream(inference_pb2.GenerateStreamRequest()))
        assert (late.code(), errors.memory_end(late)) == (grpc.StatusCode.UNAVAILABLE, None)
    await serving.stop(0)


async def test_a_request_that_is_longer_than_a_message_may_be_is_known_as_such() -> None:
    asked = inference_pb2.PauseRequest(model_id="m" * (server.MAX_MESSAGE_BYTES + 1))
    async with channel("127.0.0.1:1", TOKEN) as opened:
        stub: Any = inference_pb2_grpc.InferenceServiceStub(opened)
        assert not errors.too_long(await _failure(stub.Pause(inference_pb2.PauseRequest(), timeout=5)))
    slow, address = Slow(), f"127.0.0.1:{ports.pick(1)[0]}"  # type: ignore[abstract]
    serving = await server.start(address, SERVICE, TOKEN, lambda grpc_server:
                                 inference_pb2_grpc.add_InferenceServiceServicer_to_server(slow, grpc_server))
    async with channel(address, TOKEN) as opened:
        stub = inference_pb2_grpc.InferenceServiceStub(opened)
        assert errors.too_long(await _failure(stub.Pause(asked, timeout=60)))
    await serving.stop(0)
