"""What gRPC calls tell: what each is about, so that both sides' log lines name it, how long it took and how it ended,
and spans that go on over the wire by W3C traceparent.
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
    return [Observed()]


def client_interceptors() -> list[Any]:
    """Return what spans an asynchronous channel's calls; each kind of call wants an object of its own."""
    return [UnaryCalls(), StreamCalls()]


def blocking_interceptors() -> list[Any]:
    """Return what spans a blocking channel's calls."""
    return [BlockingCalls()]


class Observed(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # not generic at run time
    """Logs each call with what it is about, spans it where it comes with a traced one, and counts it."""

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any
    ) -> Any:
        handler, method = await continuation(handler_call_details), handler_call_details.method
        if handler is None or not method.startswith(_OURS):
            return handler
        told = dict(handler_call_details.invocation_metadata or ())
        if handler.response_streaming:
            return handler._replace(unary_stream=_answering_stream(handler.unary_stream, method, told))
        return handler._replace(unary_unary=_answering(handler.unary_unary, method, told))


class UnaryCalls(grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[type-arg]
    """Tells of calls with one answer."""

    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await _asked(continuation, client_call_details, request)


class StreamCalls(grpc.aio.UnaryStreamClientInterceptor):  # type: ignore[type-arg]
    """Tells of calls with a stream of answers, up to its end."""

    async def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await _asked(continuation, client_call_details, request)


class BlockingCalls(grpc.UnaryUnaryClientInterceptor):  # type: ignore[type-arg]
    """Tells of calls of synchronous callers."""

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        method = client_call_details.method
        with tracing.span(_name(method), SpanKind.CLIENT, **_attributes(method)) as span:
            details = client_call_details
            call = continuation(Details(
                details.method, details.timeout, [*(details.metadata or ()), *_told(span)], details.credentials,
                details.wait_for_ready, details.compression), request)
            if span is not None:
                span.set_attribute("rpc.response.status_code", call.code().name)
            return call


async def _asked(continuation: Any, details: Any, request: Any) -> Any:
    method = details.method.decode() if isinstance(details.method, bytes) else details.method
    span = tracing.begin(_name(method), SpanKind.CLIENT, **_attributes(method))
    details = details._replace(metadata=grpc.aio.Metadata(*(details.metadata or ()), *_told(span)))
    if span is None:
        return await continuation(details, request)
    try:
        call = await continuation(details, request)
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


def _told(span: Span | None) -> tuple[tuple[str, str], ...]:
    """Return what goes beside a call: what it is about, and where in a trace it stands."""
    return subjects.told() if span is None else (*subjects.told(), (tracing.HEADER, tracing.current(span) or ""))


def _answering(
    behaviour: Callable[..., Awaitable[Any]], method: str, told: dict[str, Any]
) -> Callable[..., Awaitable[Any]]:
    async def call(request: Any, context: Any) -> Any:
        with _answered(method, told):
            return await behaviour(request, context)

    return call


def _answering_stream(
    behaviour: Callable[..., AsyncIterator[Any]], method: str, told: dict[str, Any]
) -> Callable[..., AsyncIterator[Any]]:
    async def call(request: Any, context: Any) -> AsyncIterator[Any]:
        with _answered(method, told):
            async for response in behaviour(request, context):
                yield response

    return call


@contextmanager
def _answered(method: str, told: dict[str, Any]) -> Iterator[None]:
    logs.stay_about(subjects.heard(told))  # each call is a task of its own
    with (tracing.under(told.get(tracing.HEADER)),
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
    """Return how loudly a call's end is told: thousands a minute that went well would drown what did not."""
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
