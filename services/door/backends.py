"""The stack's services behind the door: raw bytes go in and come out."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from hone.api import inference_pb2, learner_pb2, reward_pb2, simulation_pb2, value_pb2
from hone.rpc.access import RULES
from hone.rpc.client import channel
from hone.rpc.errors import InvalidField
from hone.rpc.tenancy import named
from hone.spec.settings import Settings
from services.door.engines import Engines

_FILES = {"inference": inference_pb2, "reward": reward_pb2, "value": value_pb2, "simulation": simulation_pb2,
          "learner": learner_pb2}
SERVICES: dict[str, ServiceDescriptor] = {
    name: service for name, file in _FILES.items() for service in file.DESCRIPTOR.services_by_name.values()}
"""The five services, by the field of their address in the settings."""
METHODS: dict[str, MethodDescriptor] = {
    f"/{service.full_name}/{method.name}": method for service in SERVICES.values() for method in service.methods}
"""Every RPC that the door serves, by its path."""
_INFERENCE = f"/{SERVICES['inference'].full_name}/"
_EVERYWHERE = frozenset(_INFERENCE + name for name in ("ListVersions", "Pause", "Resume", "Abort"))
"""RPCs about what runs in engines: they go to each one."""


Metadata = tuple[tuple[str, str | bytes], ...]


class Call(NamedTuple):
    """A call that the door passes on."""

    method: str
    tenant_id: str
    raw: bytes
    metadata: Metadata
    timeout_s: float | None


class Backends:
    """A channel to each service, made when it is first used."""

    def __init__(self, settings: Settings, engines: Engines) -> None:
        self._token, self._engines = settings.stack_token, engines
        self._places = {service.full_name: getattr(settings.addresses, name) for name, service in SERVICES.items()}
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._methods: dict[tuple[str, str], Callable[..., Any]] = {}

    async def answer(self, call: Call) -> bytes:
        """Return the answer to a call. Raises grpc.aio.AioRpcError and RpcError."""
        if call.method in _EVERYWHERE:
            return await self._everywhere(call)
        address = await self._address(call)
        with self._counted(address):
            return await self._start(address, call)  # type: ignore[no-any-return]

    async def stream(self, call: Call) -> AsyncGenerator[bytes]:
        """Yield the answers to a call. Raises grpc.aio.AioRpcError and RpcError."""
        address = await self._address(call)
        with self._counted(address):
            answers = self._start(address, call)
            try:
                async for answer in answers:
                    yield answer
            finally:
                answers.cancel()  # the caller may have gone away

    async def close(self) -> None:
        for one in self._channels.values():
            await one.close(None)

    async def addresses(self, name: str) -> Sequence[str]:
        """Return where a service is. Raises NotReady if there is no engine."""
        return await self._engines.live() if name == "inference" else [self._places[SERVICES[name].full_name]]

    def method(self, address: str, path: str, streams: bool = False) -> Callable[..., Any]:
        """Return a method of the service at an address, from bytes to bytes."""
        if (address, path) not in self._methods:
            if address not in self._channels:
                self._channels[address] = channel(address, self._token)
            opened: Any = self._channels[address]
            kind = opened.unary_stream if streams else opened.unary_unary
            self._methods[address, path] = kind(path)
        return self._methods[address, path]

    def _start(self, address: str, call: Call) -> Any:
        ask = self.method(address, call.method, METHODS[call.method].server_streaming)
        return ask(call.raw, metadata=call.metadata, timeout=call.timeout_s)

    async def _address(self, call: Call) -> str:
        if not call.method.startswith(_INFERENCE):
            return str(self._places[call.method[1:].rpartition("/")[0]])
        live = await self._engines.live()
        if len(live) == 1:
            return live[0]
        return await self._engines.choose(call.tenant_id, _models(call))

    async def _everywhere(self, call: Call) -> bytes:
        """Ask every engine, and join their answers. An engine that lacks the model counts only if all of them do."""
        asked = (self._start(address, call) for address in await self._engines.live())
        answers = await asyncio.gather(*(_settled(one) for one in asked))
        good = [answer for answer in answers if isinstance(answer, bytes)]
        bad = [answer for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
        for error in bad:
            if not good or error.code() is not grpc.StatusCode.NOT_FOUND:
                raise error
        return _joined(call.method, good)

    @contextmanager
    def _counted(self, address: str) -> Iterator[None]:
        self._engines.calls[address] += 1
        try:
            yield
        finally:
            self._engines.calls[address] -= 1


async def _settled(call: Any) -> bytes | grpc.aio.AioRpcError:
    try:
        return await call  # type: ignore[no-any-return]
    except grpc.aio.AioRpcError as error:
        return error


def _joined(method: str, answers: list[bytes]) -> bytes:
    """Join the answers of several engines: lists one after another, counts added."""
    if method == _INFERENCE + "Abort":
        ended = sum(inference_pb2.AbortResponse.FromString(answer).aborted for answer in answers)
        return inference_pb2.AbortResponse(aborted=ended).SerializeToString()
    return b"".join(answers)  # protobuf merges messages whose bytes follow each other


def _models(call: Call) -> list[str]:
    """Return the models that a request names. Raises InvalidField if it is no message."""
    try:
        request = GetMessageClass(METHODS[call.method].input_type).FromString(call.raw)
    except DecodeError as error:
        raise InvalidField("request", f"{len(call.raw)} bytes", f"a message of the method's type ({error})") from error
    return [found for _, found in named(request, RULES[call.method].model)]
