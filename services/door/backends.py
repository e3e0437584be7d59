"""The stack's services behind the door: raw bytes go in and come out."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import grpc

from hone.api import inference_pb2
from hone.rpc.access import RULES
from hone.rpc.client import channel
from hone.rpc.engines import Engines
from hone.spec.settings import Settings
from services.door.call import METHODS, SERVICES, Call
from services.door.sessions import Sessions

_INFERENCE, _SIMULATION = (f"/{SERVICES[name].full_name}/" for name in ("inference", "simulation"))
_EVERYWHERE = frozenset(_INFERENCE + name for name in ("ListVersions", "Pause", "Resume", "Abort"))
"""RPCs about what runs in engines: they go to each one."""


class Backends:
    """A channel to each service, made when it is first used."""

    def __init__(self, settings: Settings, engines: Engines) -> None:
        self._token, self._engines = settings.stack_token, engines
        self._sessions = Sessions(settings.stack_token, settings.addresses.simulation)
        self._places = {service.full_name: getattr(settings.addresses, name) for name, service in SERVICES.items()}
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._methods: dict[tuple[str, str], Callable[..., Any]] = {}

    async def answer(self, call: Call) -> bytes:
        """Return the answer to a call. Raises grpc.aio.AioRpcError and RpcError."""
        if call.method in _EVERYWHERE:
            return await self._everywhere(call)
        if call.method.startswith(_SIMULATION):
            return await self._sessions.answer(call, partial(self._ask, call))
        return await self._ask(call, await self._address(call), call.raw)

    async def stream(self, call: Call) -> AsyncGenerator[bytes]:
        """Yield the answers to a call. Raises grpc.aio.AioRpcError and RpcError."""
        address = await self._address(call)
        with self._counted(address):
            answers = self._start(address, call, call.raw)
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

    async def _ask(self, call: Call, address: str, raw: bytes) -> bytes:
        with self._counted(address):
            return await self._start(address, call, raw)  # type: ignore[no-any-return]

    def _start(self, address: str, call: Call, raw: bytes) -> Any:
        ask = self.method(address, call.method, METHODS[call.method].server_streaming)
        return ask(raw, metadata=call.metadata, timeout=call.timeout_s)

    async def _address(self, call: Call) -> str:
        if not call.method.startswith(_INFERENCE):
            return str(self._places[call.method[1:].rpartition("/")[0]])
        live = await self._engines.live()
        if len(live) == 1:
            return live[0]
        return await self._engines.choose(call.tenant_id, call.named_by(RULES[call.method].model))

    async def _everywhere(self, call: Call) -> bytes:
        """Ask every engine, and join their answers. An engine that lacks the model counts only if all of them do."""
        asked = (self._start(address, call, call.raw) for address in await self._engines.live())
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
