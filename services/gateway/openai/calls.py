"""Calls to engines for the tenants of requests: whole answers, and answers token by token.

An engine counts what a call uses to the tenant's key, and serves it models of the tenant alone. A call whose caller
goes away is cancelled; then the engine aborts its samples.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import grpc

from hone.api import inference_pb2, inference_pb2_grpc, trajectory_pb2, value_pb2, value_pb2_grpc
from hone.rpc import errors as rpc_errors
from hone.rpc.client import TIMEOUT_S, channel
from hone.rpc.engines import Engines
from hone.rpc.errors import NotReady
from hone.rpc.tenancy import KEY, TENANT
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase
from services.gateway.middleware.errors import Away
from services.gateway.middleware.tenancy import TenantSession
from services.gateway.openai.refusals import Busy, of_service, unknown_model

DEADLINE_S = 600.0
"""Seconds that a request may take, the loading of its model included: as long as OpenAI's clients wait."""

ROUTE_S = 5.0
"""Seconds that the choice of a model may take."""

QUIET_S = 5.0
"""Seconds without a token after which a stream says that it goes on."""

Made = tuple[int, trajectory_pb2.Completion]
"""The place of a request among those of one body, and new tokens of one of its samples."""


T = TypeVar("T")


class ChatShare:
    """How many requests to models are in progress, in all and of each tenant."""

    def __init__(self, most: int, most_of_tenant: int) -> None:
        self._most, self._most_of_tenant = most, most_of_tenant
        self._open = Counter[str]()

    @contextmanager
    def one(self, tenant_id: str) -> Iterator[None]:
        """Hold a place. Raises Busy if there is none."""
        if self._open[tenant_id] >= self._most_of_tenant:
            raise Busy(f"Your tenant has {self._most_of_tenant} requests to models in progress at this gateway "
                       "(HONE_CHAT_TENANT_REQUESTS). Try again when a request has ended.")
        if self._open.total() >= self._most:
            raise Busy(f"This gateway has {self._most} requests to models in progress (HONE_CHAT_REQUESTS). Try again.")
        self._open[tenant_id] += 1
        try:
            yield
        finally:
            self._open[tenant_id] -= 1


@dataclass
class EngineCalls:
    """The engines, and a channel to each."""

    settings: Settings
    database: AsyncDatabase
    _channels: dict[str, grpc.aio.Channel] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._engines = Engines(self.database, self.settings.sweep_s)

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Follow the engines' rows until the context ends, and close the channels then."""
        task = asyncio.create_task(self._engines.follow_forever())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            for one in self._channels.values():
                await one.close(None)

    async def whole(
        self, session: TenantSession, name: str, request: inference_pb2.GenerateRequest
    ) -> Sequence[trajectory_pb2.Completion]:
        """Return all answers to a request. Raises the refusal of the engine."""
        async with self._stub(session, name, request.model_id) as (stub, address):
            with self._counted(address):
                answer = await stub.Generate(request, timeout=DEADLINE_S, metadata=_caller(session))
                return list(answer.completions)

    async def score(
        self, session: TenantSession, name: str, request: inference_pb2.ScoreRequest
    ) -> inference_pb2.ScoreResponse:
        """Return log-probs of given ids. Raises the refusal of the engine."""
        async with self._stub(session, name, request.model_id) as (stub, address):
            with self._counted(address):
                scored: inference_pb2.ScoreResponse = await stub.Score(
                    request, timeout=DEADLINE_S, metadata=_caller(session))
                return scored

    async def rate(
        self, session: TenantSession, name: str, request: inference_pb2.RateRequest
    ) -> inference_pb2.RateResponse:
        """Return the ratings of texts by a reward model. Raises the refusal of the engine."""
        async with self._stub(session, name, request.model_id) as (stub, address):
            with self._counted(address):
                rated: inference_pb2.RateResponse = await stub.Rate(
                    request, timeout=DEADLINE_S, metadata=_caller(session))
                return rated

    async def embed(self, session: TenantSession, name: str, texts: Sequence[str]) -> value_pb2.EmbedResponse:
        """Return the vectors of texts. Raises ModelNotFound for another embedder than the value service's."""
        address = self.settings.addresses.value
        try:
            stub: Any = value_pb2_grpc.ValueServiceStub(self._channel(address))
            made: value_pb2.EmbedResponse = await stub.Embed(
                value_pb2.EmbedRequest(texts=texts, model=name), timeout=TIMEOUT_S, metadata=_caller(session))
            return made
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.INVALID_ARGUMENT and (error.details() or "").startswith("model:"):
                raise unknown_model(name, rpc_errors.reason(error)) from error
            raise of_service(error, name, "value service") from error

    async def route(
        self, session: TenantSession, request: value_pb2.RouteRequest
    ) -> tuple[value_pb2.RouteResponse | None, str]:
        """Return the decision of the value service; None, and the reason, while it does not answer."""
        try:
            stub: Any = value_pb2_grpc.ValueServiceStub(self._channel(self.settings.addresses.value))
            return await stub.Route(request, timeout=ROUTE_S, metadata=_caller(session)), ""
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.INVALID_ARGUMENT:
                raise of_service(error, "", "value service") from error
            return None, f"the value service does not answer ({error.code().name})"

    async def route_outcomes(
        self, session: TenantSession, request: value_pb2.RouteOutcomesRequest
    ) -> value_pb2.RouteOutcomesResponse:
        """Return outcomes of candidates on the same prompts. Raises the refusal of the value service."""
        try:
            stub: Any = value_pb2_grpc.ValueServiceStub(self._channel(self.settings.addresses.value))
            found: value_pb2.RouteOutcomesResponse = await stub.RouteOutcomes(
                request, timeout=DEADLINE_S, metadata=_caller(session))
            return found
        except grpc.aio.AioRpcError as error:
            raise of_service(error, "", "value service") from error

    async def nearest(
        self, session: TenantSession, request: value_pb2.NearestRequest
    ) -> value_pb2.NearestResponse:
        """Return the prompts of a run nearest to a text. Raises the refusal of the value service."""
        try:
            stub: Any = value_pb2_grpc.ValueServiceStub(self._channel(self.settings.addresses.value))
            found: value_pb2.NearestResponse = await stub.Nearest(
                request, timeout=TIMEOUT_S, metadata=_caller(session))
            return found
        except grpc.aio.AioRpcError as error:
            raise of_service(error, "", "value service") from error

    async def pieces(
        self, session: TenantSession, name: str, requests: Sequence[inference_pb2.GenerateRequest]
    ) -> AsyncGenerator[list[Made]]:
        """Yield the tokens of all requests as they are made, all that are there at a time; none after each silence.

        Raises the refusal of the engine.
        """
        queue: asyncio.Queue[Made | Exception | None] = asyncio.Queue()
        tasks = [asyncio.create_task(self._stream(session, name, place, request, queue))
                 for place, request in enumerate(requests)]
        try:
            running = len(tasks)
            while running:
                together = list[Made]()
                for found in await _waiting(queue):
                    if isinstance(found, Exception):
                        raise found
                    running -= found is None
                    together += [] if found is None else [found]
                if together or running:
                    yield together
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _stream(
        self, session: TenantSession, name: str, place: int, request: inference_pb2.GenerateRequest,
        queue: "asyncio.Queue[Made | Exception | None]",
    ) -> None:
        try:
            async with self._stub(session, name, request.model_id) as (stub, address):
                with self._counted(address):
                    call = stub.GenerateStream(
                        inference_pb2.GenerateStreamRequest(request=request), timeout=DEADLINE_S,
                        metadata=_caller(session))
                    try:
                        async for message in call:
                            queue.put_nowait((place, message.delta))
                    finally:
                        call.cancel()  # the engine aborts the samples of a caller that is gone
            queue.put_nowait(None)
        except Exception as error:  # raised again where the tokens are awaited
            queue.put_nowait(error)

    @asynccontextmanager
    async def _stub(self, session: TenantSession, name: str, model_id: str) -> AsyncIterator[tuple[Any, str]]:
        """Give the stub and the address of the engine to ask. Raises Away, and the refusals of the engine."""
        try:
            address = await self._engines.choose(session.tenant_id, [model_id])
            yield inference_pb2_grpc.InferenceServiceStub(self._channel(address)), address
        except NotReady as error:
            raise Away(f"No engine can answer: {error}.") from error
        except grpc.aio.AioRpcError as error:
            raise of_service(error, name, "engine") from error

    def _channel(self, address: str) -> grpc.aio.Channel:
        if address not in self._channels:
            self._channels[address] = channel(address, self.settings.stack_token)
        return self._channels[address]

    @contextmanager
    def _counted(self, address: str) -> Iterator[None]:
        self._engines.calls[address] += 1
        try:
            yield
        finally:
            self._engines.calls[address] -= 1


async def _waiting(queue: "asyncio.Queue[T]") -> list[T]:
    """Return everything that is in a queue, once there is something; nothing after a silence of QUIET_S."""
    found = list[T]()
    with suppress(TimeoutError):
        async with asyncio.timeout(QUIET_S):
            found.append(await queue.get())
    while not queue.empty():
        found.append(queue.get_nowait())
    return found


def _caller(session: TenantSession) -> tuple[tuple[str, str], ...]:
    return ((TENANT, session.tenant_id), (KEY, session.key_id))


def now() -> int:
    """Return the seconds since 1970."""
    return int(time.time())
