"""The observation of gRPC calls: log lines with the subject of each call, its duration and its end, and spans.

The span goes to the server in the metadata, as a W3C traceparent.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import grpc
from opentelemetry.trace import Span, SpanKind

from hone.rpc import subjects
from hone.rpc.errors import RpcError
from hone.telemetry import logs, metrics, tracing

_log = logging.getLogger(__name__)
_USUAL = (grpc.StatusCode.OK, grpc.StatusCode.CANCELLED)
_OURS = "/hone."  # not health checks and reflection


class Details(NamedTuple):
    """The details of a blocking call, in the form that grpc expects."""

    method: str
    timeout: float | None
    metadata: Any
    credentials: Any
    wait_for_ready: bool | None
    compression: Any


def server_interceptors() -> list[Any]:
    """Return the interceptors of a server."""
    return [Observed()]


def client_interceptors() -> list[Any]:
    """Return the interceptors of an asynchronous channel, one for each kind of call."""
    return [UnaryCalls(), StreamCalls()]


def blocking_interceptors() -> list[Any]:
    """Return the interceptors of a blocking channel."""
    return [BlockingCalls()]


class Observed(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # not generic at run time
    """Logs each call with its subject, counts it, and makes a span of it if its caller is traced."""

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any
    ) -> Any:
        handler, method = await continuation(handler_call_details), handler_call_details.method
        if handler is None or not method.startswith(_OURS):
            return handler
        metadata = dict(handler_call_details.invocation_metadata or ())
        if handler.response_streaming:
            return handler._replace(unary_stream=_answering_stream(handler.unary_stream, method, metadata))
        return handler._replace(unary_unary=_answering(handler.unary_unary, method, metadata))


class UnaryCalls(grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[type-arg]
    """Makes spans of calls with one answer."""

    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await _asked(continuation, client_call_details, request)


class StreamCalls(grpc.aio.UnaryStreamClientInterceptor):  # type: ignore[type-arg]
    """Makes spans of calls with a stream of answers, up to its end."""

    async def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await _asked(continuation, client_call_details, request)


class BlockingCalls(grpc.UnaryUnaryClientInterceptor):  # type: ignore[type-arg]
    """Makes spans of blocking calls."""

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        method = client_call_details.method
        with tracing.span(_name(method), SpanKind.CLIENT, **_attributes(method)) as span:
            details = client_call_details
            call = continuation(Details(
                details.method, details.timeout, [*(details.metadata or ()), *_metadata(span)], details.credentials,
                details.wait_for_ready, details.compression), request)
            if span is not None:
                span.set_attribute("rpc.response.status_code", call.code().name)
            return call


async def _asked(continuation: Any, details: Any, request: Any) -> Any:
    method = details.method.decode() if isinstance(details.method, bytes) else details.method
    span = tracing.begin(_name(method), SpanKind.CLIENT, **_attributes(method))
    if span is None:
        return await continuation(details, request)
    details = details._replace(metadata=grpc.aio.Metadata(*(details.metadata or ()), *_metadata(span)))
    try:
        call = await continuation(details, request)
    except BaseException as error:
        tracing.end(span, f"{type(error).__name__}: {error}")
        raise
    call.add_done_callback(lambda _: _follow(span, call))
    return call


_following: set[asyncio.Task[None]] = set()


def _follow(span: Span, call: Any) -> None:
    """End the span of a call that is done. Its status has to be awaited."""
    task = asyncio.get_running_loop().create_task(_end(span, call))
    _following.add(task)
    task.add_done_callback(_following.discard)


async def _end(span: Span, call: Any) -> None:
    code = await call.code()
    span.set_attribute("rpc.response.status_code", code.name)
    tracing.end(span, None if code is grpc.StatusCode.OK else code.name)


def _metadata(span: Span | None) -> tuple[tuple[str, str], ...]:
    """Return a call's place in a trace, for its metadata."""
    return () if span is None else ((tracing.HEADER, tracing.current(span) or ""),)


def _answering(
    behaviour: Callable[..., Awaitable[Any]], method: str, metadata: dict[str, Any]
) -> Callable[..., Awaitable[Any]]:
    async def call(request: Any, context: Any) -> Any:
        with _answered(method, metadata):
            return await behaviour(request, context)

    return call


def _answering_stream(
    behaviour: Callable[..., AsyncIterator[Any]], method: str, metadata: dict[str, Any]
) -> Callable[..., AsyncIterator[Any]]:
    async def call(request: Any, context: Any) -> AsyncIterator[Any]:
        with _answered(method, metadata):
            async for response in behaviour(request, context):
                yield response

    return call


@contextmanager
def _answered(method: str, metadata: dict[str, Any]) -> Iterator[None]:
    logs.stay_about(subjects.read(metadata))  # each call is a task of its own
    with (tracing.under(metadata.get(tracing.HEADER)),
          tracing.span(_name(method), SpanKind.SERVER, **_attributes(method))):
        began = time.perf_counter()
        try:
            yield
        except BaseException as error:
            _ended(method, began, error)
            raise
        _ended(method, began, None)


def _ended(method: str, began: float, error: BaseException | None) -> None:
    """Count a call, and log how it ended."""
    code, seconds = _code(error), time.perf_counter() - began
    metrics.RPC_SECONDS.labels(*_parts(method), code.name).observe(seconds)
    said = f": {error}" if isinstance(error, RpcError) else ""
    _log.log(_level(code), "%s %s%s", _name(method), code.name, said,
             extra={"fields": {"seconds": round(seconds, 4)}},
             exc_info=error if code is grpc.StatusCode.UNKNOWN else None)


def _level(code: grpc.StatusCode) -> int:
    """Return the log level for the end of a call. Thousands of good calls a minute must not hide the bad ones."""
    if code in _USUAL:
        return logging.INFO if tracing.ids() else logging.DEBUG
    return logging.ERROR if code is grpc.StatusCode.UNKNOWN else logging.WARNING


def _code(error: BaseException | None) -> grpc.StatusCode:
    if error is None:
        return grpc.StatusCode.OK
    if isinstance(error, RpcError):
        return error.code
    ended = isinstance(error, asyncio.CancelledError | GeneratorExit)
    return grpc.StatusCode.CANCELLED if ended else grpc.StatusCode.UNKNOWN


def _parts(method: str) -> Iterable[str]:
    service, _, name = method.removeprefix("/").rpartition("/")
    return service.rpartition(".")[2], name


def _name(method: str) -> str:
    return "/".join(_parts(method))


def _attributes(method: str) -> dict[str, Any]:
    return {"rpc.system.name": "grpc", "rpc.method": method.removeprefix("/")}
