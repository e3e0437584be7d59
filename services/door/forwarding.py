"""The way of a call through the door: its key is looked up, its scope checked, its bytes and its answer passed on.

    KeyHolders      whose key it is; refused before a byte of the request is read
    RunningCalls    a place among the tenant's calls; the request is read within bounds
    Quotas          refused if the tenant has used up what the call would use
    Backends        the services, which check what a request names: they get the tenant in the metadata
    Audit           the row of a call that changes something, before its answer
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, aclosing, contextmanager
from functools import partial
from typing import Any, NamedTuple, NoReturn

import grpc
from grpc_health.v1 import health
from grpc_reflection.v1alpha import reflection

from hone import scopes
from hone.rpc.access import RULES
from hone.rpc.border import Continuation, refusal
from hone.rpc.errors import Forbidden, OverBudget, RpcError, abort, departed
from hone.rpc.tenancy import KEY, TENANT, Caller
from hone.telemetry import metrics
from services.door import refusals
from services.door.audit import Audit
from services.door.backends import Backends
from services.door.call import METHODS, Call, Metadata
from services.door.keys import Holder, KeyHolders
from services.door.quotas import Quotas
from services.door.reading import bounded
from services.door.running import Running, RunningCalls

LONGEST_S = 3600.0
"""Seconds that a call may take, and that a call without a deadline gets."""
_MOST_ASKING = 1000
_SENDING_S = 1.0
_HEALTH, _REFLECTION = f"/{health.SERVICE_NAME}/", f"/{reflection.SERVICE_NAME}/"
_log = logging.getLogger(__name__)
_OURS = ("hone-", "grpc-", ":")
_HOP = frozenset({"authorization", "user-agent", "content-type", "te", "host"})
"""Metadata that belongs to the way from the client to the door."""


class Stations(NamedTuple):
    """Parts that a call passes."""

    holders: KeyHolders
    running: RunningCalls
    quotas: Quotas
    backends: Backends
    audit: Audit


class Door(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # not generic at run time
    """Serves every RPC of the stack to holders of keys. Health is told to everybody, contracts to every holder."""

    def __init__(self, stations: Stations) -> None:
        self._holders, self._running, self._quotas, self._backends, self._audit = stations
        self._asking = 0

    async def intercept_service(self, continuation: Continuation, handler_call_details: Any) -> Any:
        method, metadata = handler_call_details.method, handler_call_details.invocation_metadata or ()
        if method.startswith(_HEALTH):
            return _found(await continuation(handler_call_details), self._health_calls)
        try:
            holder = await self._holders.of_call(metadata)
            if method in METHODS:
                _check_scope(method, holder.scopes)
        except RpcError as error:
            _log.info("%s refused: %s", method, error)
            return refusal(error)
        if method in METHODS:
            return self._forwarded(method, holder, passed_on(metadata, holder.caller))
        if method.startswith(_REFLECTION):
            return _found(await continuation(handler_call_details), partial(self._running.one, holder))
        return None

    @contextmanager
    def _health_calls(self) -> Iterator[None]:
        """Hold one of the places of calls that need no key: watchers stay for long."""
        if self._asking >= _MOST_ASKING:
            raise OverBudget(f"calls about health: found {self._asking}, expected fewer than {_MOST_ASKING}")
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1

    def _forwarded(self, method: str, holder: Holder, metadata: Metadata) -> Any:
        """Return the handler of one call. It reads the request itself: a handler with one request gets it unbounded."""

        async def unary(requests: AsyncIterator[bytes], context: Any) -> bytes:
            try:
                with _counted(method), self._running.one(holder) as running:
                    call = await self._admitted(method, metadata, running, requests, context)
                    answer = await self._backends.answer(call)
                    await self._audit.tell(call, holder.caller, context.peer())
                    return answer
            except Exception as error:
                await pass_back(context, error)

        async def stream(requests: AsyncIterator[bytes], context: Any) -> None:
            try:
                with _counted(method), self._running.one(holder) as running:
                    call = await self._admitted(method, metadata, running, requests, context)
                    async with aclosing(self._streamed(call, holder.caller, context.peer())) as answers:
                        async for answer in answers:
                            await _sent(context, answer)  # grpc sends what is yielded: an end meanwhile had no status
            except Exception as error:
                await pass_back(context, error)

        if METHODS[method].server_streaming:
            return grpc.stream_stream_rpc_method_handler(stream)
        return grpc.stream_unary_rpc_method_handler(unary)

    async def _admitted(
        self, method: str, metadata: Metadata, running: Running, requests: AsyncIterator[bytes], context: Any
    ) -> Call:
        """Return the call once its request is read. Raises RpcError."""
        raw, left_s = await running.read(requests), context.time_remaining()
        call = Call(method, running.holder.caller.tenant_id, raw, metadata,
                    LONGEST_S if left_s is None else min(left_s, LONGEST_S))
        await self._quotas.expect_some_left(call)
        return call

    async def _streamed(self, call: Call, who: Caller, peer: str) -> AsyncGenerator[bytes]:
        """Yield the answers to a call. With the first one, the call may have changed something."""
        logged = False
        async with aclosing(self._backends.stream(call)) as answers:
            async for answer in answers:
                if not logged:
                    await self._audit.tell(call, who, peer)
                    logged = True
                yield answer


async def _sent(context: Any, answer: bytes) -> None:
    """Send an answer of a stream. A call that is ended meanwhile lets it end first, if it is soon.

    grpc sometimes sends no status behind an answer whose sending was cancelled, so that the caller waits for its
    deadline.
    """
    sending = asyncio.ensure_future(context.write(answer))
    try:
        await asyncio.shield(sending)
    except asyncio.CancelledError:
        await asyncio.wait([sending], timeout=_SENDING_S)
        sending.cancel()  # of a caller who does not read
        raise


def _found(handler: Any, place: Callable[[], AbstractContextManager[object]]) -> Any:
    return None if handler is None else bounded(handler, place)


def passed_on(metadata: Iterable[Any], who: Caller) -> Metadata:
    """Return the metadata that a service gets: the client's, without what begins with hone-, and who calls."""
    kept = [(name, value) for name, value in metadata if name not in _HOP and not name.startswith(_OURS)]
    return (*kept, (TENANT, who.tenant_id), (KEY, who.key_id))


async def pass_back(context: Any, error: Exception) -> NoReturn:
    """End a call with an error in the words that its caller may read."""
    if isinstance(error, RpcError):
        await abort(context, error)
    elif isinstance(error, grpc.aio.AioRpcError):
        with departed():
            await context.abort(*refusals.public(error))
    else:
        _log.error("a call failed", exc_info=error)
        with departed():
            await context.abort(grpc.StatusCode.INTERNAL, "the door failed; its log tells more")
    raise error  # abort ends the call with an exception of its own


def _check_scope(method: str, held: list[str]) -> None:
    wanted = RULES[method].scope
    if not scopes.includes(held, wanted):
        raise Forbidden(f"authorization: found a key for {', '.join(held) or 'nothing'}, expected one for {wanted}")


@contextmanager
def _counted(method: str) -> Iterator[None]:
    """Count a call by how it ends."""
    began, code = time.perf_counter(), grpc.StatusCode.OK
    try:
        yield
    except grpc.aio.AioRpcError as error:
        code = error.code()
        raise
    except RpcError as error:
        code = error.code
        raise
    except (asyncio.CancelledError, GeneratorExit):
        code = grpc.StatusCode.CANCELLED
        raise
    except Exception:
        code = grpc.StatusCode.INTERNAL
        raise
    finally:
        service, _, name = method[1:].rpartition("/")
        metrics.RPC_SECONDS.labels(service.rpartition(".")[2], name, code.name).observe(time.perf_counter() - began)
