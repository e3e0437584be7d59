"""The way of a call through the door: its key is looked up, its scope checked, its bytes and its answer passed on.

Neither request nor answer is read here. The services check what a request names: they get the tenant in the metadata.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, NoReturn

import grpc
from grpc_health.v1 import health
from grpc_reflection.v1alpha import reflection

from hone.rpc import errors
from hone.rpc.access import RULES, permits
from hone.rpc.border import Continuation, refusal
from hone.rpc.errors import Forbidden, RpcError, abort
from hone.rpc.tenancy import KEY, TENANT, Caller
from hone.telemetry import metrics
from services.door.backends import METHODS, Backends, Call, Metadata
from services.door.keys import KeyHolders

_HEALTH, _REFLECTION = f"/{health.SERVICE_NAME}/", f"/{reflection.SERVICE_NAME}/"
_log = logging.getLogger(__name__)
_DETAILS = "grpc-status-details-bin"
_OURS = ("hone-", "grpc-", ":")
_HOP = frozenset({"authorization", "user-agent", "content-type", "te", "host"})
"""Metadata that belongs to the way from the client to the door."""


class Door(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # not generic at run time
    """Serves every RPC of the stack to holders of keys. Health is told to everybody, contracts to every holder."""

    def __init__(self, holders: KeyHolders, backends: Backends) -> None:
        self._holders, self._backends = holders, backends

    async def intercept_service(self, continuation: Continuation, handler_call_details: Any) -> Any:
        method, metadata = handler_call_details.method, handler_call_details.invocation_metadata or ()
        if method.startswith(_HEALTH):
            return await continuation(handler_call_details)
        try:
            holder = await self._holders.of_call(metadata)
            if method in METHODS:
                _check_scope(method, holder.scopes)
        except RpcError as error:
            _log.info("%s refused: %s", method, error)
            return refusal(error)
        if method in METHODS:
            return self._forwarded(method, holder.caller, passed_on(metadata, holder.caller))
        return await continuation(handler_call_details) if method.startswith(_REFLECTION) else None

    def _forwarded(self, method: str, who: Caller, metadata: Metadata) -> Any:
        """Return the handler of one call."""

        def call(raw: bytes, context: Any) -> Call:
            return Call(method, who.tenant_id, raw, metadata, context.time_remaining())

        async def unary(raw: bytes, context: Any) -> bytes:
            try:
                with _counted(method):
                    return await self._backends.answer(call(raw, context))
            except (grpc.aio.AioRpcError, RpcError) as error:
                await pass_back(context, error)

        async def stream(raw: bytes, context: Any) -> AsyncIterator[bytes]:
            try:
                with _counted(method):
                    async with aclosing(self._backends.stream(call(raw, context))) as answers:
                        async for answer in answers:
                            yield answer
            except (grpc.aio.AioRpcError, RpcError) as error:
                await pass_back(context, error)

        if METHODS[method].server_streaming:
            return grpc.unary_stream_rpc_method_handler(stream)
        return grpc.unary_unary_rpc_method_handler(unary)


def passed_on(metadata: Iterable[Any], who: Caller) -> Metadata:
    """Return the metadata that a service gets: the client's, without what begins with hone-, and who calls."""
    kept = [(name, value) for name, value in metadata if name not in _HOP and not name.startswith(_OURS)]
    return (*kept, (TENANT, who.tenant_id), (KEY, who.key_id))


async def pass_back(context: Any, error: grpc.aio.AioRpcError | RpcError) -> NoReturn:
    """End a call with the error of the service, and its details."""
    if isinstance(error, RpcError):
        await abort(context, error)
    elif error.code() is grpc.StatusCode.UNAUTHENTICATED:
        _log.error("a service refuses the door: %s", error.details())
        await context.abort(grpc.StatusCode.INTERNAL, "the stack's services and its door have different tokens")
    else:
        trailing: Iterable[Any] = error.trailing_metadata() or ()
        details = [(name, value) for name, value in trailing if name == _DETAILS]
        await context.abort(error.code(), errors.reason(error), tuple(details))
    raise error  # abort ends the call with an exception of its own


def _check_scope(method: str, scopes: list[str]) -> None:
    wanted = RULES[method].scope
    if not permits(scopes, wanted):
        raise Forbidden(f"authorization: found a key for {', '.join(scopes) or 'nothing'}, expected one for {wanted}")


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
    finally:
        service, _, name = method[1:].rpartition("/")
        metrics.RPC_SECONDS.labels(service.rpartition(".")[2], name, code.name).observe(time.perf_counter() - began)
