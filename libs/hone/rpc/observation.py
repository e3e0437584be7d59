"""What gRPC calls tell: spans that go on over the wire by W3C traceparent, and how long each call took.

Where a process neither traces nor serves metrics its channels and servers have no interceptor of these.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import grpc
from opentelemetry.trace import Span, SpanKind

from hone.rpc.errors import RpcError
from hone.telemetry import metrics, tracing

_OURS = "/hone."  # health checks and reflection are nobody's work


class Details(NamedTuple):
    """A blocking call's details, as grpc wants them back."""

    method: str
    timeout: float | None
    metadata: Any
    credentials: Any
    wait_for_ready: bool | None
    compression: Any


def server_interceptors() -> list[Any]:
    """Return what a server tells its calls to."""
    return [Observed()] if tracing.on() or metrics.served() else []


def client_interceptors() -> list[Any]:
    """Return what an asynchronous channel tells its calls to; each kind of call wants an object of its own."""
    return [UnaryCalls(), StreamCalls()] if tracing.on() else []


def observed_channel(channel: grpc.Channel) -> grpc.Channel:
    """Return a blocking channel that tells its calls."""
    return grpc.intercept_channel(channel, BlockingCalls()) if tracing.on() else channel


class Observed(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # not generic at run time
    """Spans each call that comes with a traced one, and counts how long it took and how it ended."""

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any
    ) -> Any:
        handler, method = await continuation(handler_call_details), handler_call_details.method
        if handler is None or not method.startswith(_OURS):
            return handler
        told = dict(handler_call_details.invocation_metadata or ()).get(tracing.HEADER)
        if handler.response_streaming:
            return handler._replace(unary_stream=_answering_stream(handler.unary_stream, method, told))
        return handler._replace(unary_unary=_answering(handler.unary_unary, method, told))


class UnaryCalls(grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[type-arg]
    """Spans calls with one answer."""

    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await _asked(continuation, client_call_details, request)


class StreamCalls(grpc.aio.UnaryStreamClientInterceptor):  # type: ignore[type-arg]
    """Spans calls with a stream of answers, up to its end."""

    async def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await _asked(continuation, client_call_details, request)


class BlockingCalls(grpc.UnaryUnaryClientInterceptor):  # type: ignore[type-arg]
    """Spans calls of synchronous callers."""

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        method = client_call_details.method
        with tracing.span(_name(method), SpanKind.CLIENT, **_attributes(method)) as span:
            call = continuation(_with_trace(client_call_details, span), request)
            if span is not None:
                span.set_attribute("rpc.response.status_code", call.code().name)
            return call


async def _asked(continuation: Any, details: Any, request: Any) -> Any:
    method = details.method.decode() if isinstance(details.method, bytes) else details.method
    span = tracing.begin(_name(method), SpanKind.CLIENT, **_attributes(method))
    if span is None:
        return await continuation(details, request)
    metadata = grpc.aio.Metadata(*(details.metadata or ()), (tracing.HEADER, tracing.current(span) or ""))
    try:
        call = await continuation(details._replace(metadata=metadata), request)
    except BaseException as error:
        tracing.end(span, f"{type(error).__name__}: {error}")
        raise
    call.add_done_callback(lambda _: _follow(span, call))
    return call


_following: set[asyncio.Task[None]] = set()


def _follow(span: Span, call: Any) -> None:
    """A call that is done says how only to those who await it."""
    task = asyncio.get_running_loop().create_task(_end(span, call))
    _following.add(task)
    task.add_done_callback(_following.discard)


async def _end(span: Span, call: Any) -> None:
    code = await call.code()
    span.set_attribute("rpc.response.status_code", code.name)
    tracing.end(span, None if code is grpc.StatusCode.OK else code.name)


def _with_trace(details: Any, span: Span | None) -> Any:
    if span is None:
        return details
    metadata = [*(details.metadata or ()), (tracing.HEADER, tracing.current(span) or "")]
    return Details(details.method, details.timeout, metadata, details.credentials, details.wait_for_ready,
                   details.compression)


def _answering(behaviour: Callable[..., Awaitable[Any]], method: str, told: object) -> Callable[..., Awaitable[Any]]:
    async def call(request: Any, context: Any) -> Any:
        with _answered(method, told):
            return await behaviour(request, context)

    return call


def _answering_stream(
    behaviour: Callable[..., AsyncIterator[Any]], method: str, told: object
) -> Callable[..., AsyncIterator[Any]]:
    async def call(request: Any, context: Any) -> AsyncIterator[Any]:
        with _answered(method, told):
            async for response in behaviour(request, context):
                yield response

    return call


@contextmanager
def _answered(method: str, told: object) -> Iterator[None]:
    began, code = time.perf_counter(), grpc.StatusCode.OK
    try:
        with tracing.under(told), tracing.span(_name(method), SpanKind.SERVER, **_attributes(method)):
            yield
    except RpcError as error:
        code = error.code
        raise
    except (asyncio.CancelledError, GeneratorExit):
        code = grpc.StatusCode.CANCELLED
        raise
    except BaseException:
        code = grpc.StatusCode.UNKNOWN
        raise
    finally:
        service, name = _parts(method)
        metrics.RPC_SECONDS.labels(service, name, code.name).observe(time.perf_counter() - began)


def _parts(method: str) -> Iterable[str]:
    service, _, name = method.removeprefix("/").rpartition("/")
    return service.rpartition(".")[2], name


def _name(method: str) -> str:
    return "/".join(_parts(method))


def _attributes(method: str) -> dict[str, Any]:
    return {"rpc.system.name": "grpc", "rpc.method": method.removeprefix("/")}
