"""The border of a gRPC server: what each call passes before and after its servicer.

    StackCalls       the call shows the stack's token; health checks need none
    ReadRequests     the request's bytes are a message of its type
    RichErrors       an RpcError of the servicer becomes the status of the call, with its details
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from inspect import isawaitable
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health

from hone.rpc import credential
from hone.rpc.database_texts import texts_named
from hone.rpc.errors import InvalidField, RpcError, Unauthenticated, abort

Continuation = Callable[[Any], Awaitable[Any]]
_log = logging.getLogger(__name__)
_HEALTH = f"/{health.SERVICE_NAME}/"
_NO_TOKEN = Unauthenticated(f"{credential.HEADER}: the call does not show the token of this stack. Clients of other "
                            "systems call the door (docs/grpc.md)")


class StackCalls(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # not generic at run time
    """Refuses calls that do not show the stack's token, before their request is read."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def intercept_service(self, continuation: Continuation, handler_call_details: Any) -> Any:
        method, received = handler_call_details.method, handler_call_details.invocation_metadata
        if method.startswith(_HEALTH) or credential.shown(received or (), self._token):
            return await continuation(handler_call_details)
        _log.warning("%s was called without the stack's token", method)
        return refusal(_NO_TOKEN)


def refusal(error: RpcError) -> Any:
    """Return a handler that ends its call with `error` and reads no request."""

    async def refuse(_: AsyncIterator[bytes], context: Any) -> None:
        await abort(context, error)

    return grpc.stream_stream_rpc_method_handler(refuse)


class ReadRequests(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Reads requests here instead of in grpc, which answers UNKNOWN to bytes that are no message."""

    async def intercept_service(self, continuation: Continuation, handler_call_details: Any) -> Any:
        handler = await continuation(handler_call_details)
        if handler is None or handler.request_deserializer is None:
            return handler
        read = _reader(handler.request_deserializer)
        bare = handler._replace(request_deserializer=None)
        if handler.request_streaming:
            return bare._replace(stream_stream=_reading_all(handler.stream_stream, read))
        if handler.response_streaming:
            return bare._replace(unary_stream=_reading_for_stream(handler.unary_stream, read))
        return bare._replace(unary_unary=_reading(handler.unary_unary, read))


def _reader(deserialize: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def read(raw: bytes) -> Any:
        try:
            return deserialize(raw)
        except DecodeError as error:
            raise InvalidField("request", f"{len(raw)} bytes", f"a message of the method's type ({error})") from error

    return read


def _reading(behaviour: Callable[..., Any], read: Callable[[bytes], Any]) -> Callable[..., Any]:
    async def call(raw: bytes, context: Any) -> Any:
        request = read(raw)
        with texts_named(request):
            return await behaviour(request, context)

    return call


def _reading_for_stream(behaviour: Callable[..., Any], read: Callable[[bytes], Any]) -> Callable[..., Any]:
    async def call(raw: bytes, context: Any) -> AsyncIterator[Any]:
        request = read(raw)
        with texts_named(request):
            async for response in answers(behaviour(request, context)):
                yield response

    return call


def _reading_all(behaviour: Callable[..., Any], read: Callable[[bytes], Any]) -> Callable[..., Any]:
    async def call(raws: AsyncIterator[bytes], context: Any) -> AsyncIterator[Any]:
        async for response in behaviour((read(raw) async for raw in raws), context):
            yield response

    return call


async def answers(behaviour: Any) -> AsyncGenerator[Any]:
    """Yield what a servicer's method yields. One that writes to its context, as health's Watch does, is awaited."""
    if isawaitable(behaviour):
        await behaviour
        return
    async for response in behaviour:
        yield response


class RichErrors(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Turns an RpcError that a servicer raises into the status of the call, with its details."""

    async def intercept_service(self, continuation: Continuation, handler_call_details: Any) -> Any:
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        if handler.request_streaming:
            return handler._replace(stream_stream=_guarded_stream(handler.stream_stream))
        if handler.response_streaming:
            return handler._replace(unary_stream=_guarded_stream(handler.unary_stream))
        return handler._replace(unary_unary=_guarded(handler.unary_unary))


def _guarded(behaviour: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def call(request: Any, context: Any) -> Any:
        try:
            return await behaviour(request, context)
        except RpcError as error:
            return await abort(context, error)

    return call


def _guarded_stream(behaviour: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
    async def call(request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            async for response in answers(behaviour(request, context)):
                yield response
        except RpcError as error:
            await abort(context, error)

    return call
