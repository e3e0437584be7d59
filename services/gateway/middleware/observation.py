"""Traces and durations of requests. A request that changes something or that belongs to a trace gets a span."""

import time

from opentelemetry.trace import Span, SpanKind
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hone.telemetry import metrics, tracing

_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class RequestObservation:
    """Opens the span of a request and records its duration in seconds."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began, method, status = time.perf_counter(), scope["method"], 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        offered = Headers(scope=scope).get(tracing.HEADER)
        with tracing.under(offered), tracing.span(method, SpanKind.SERVER, root=method not in _READS) as span:
            try:
                await self._app(scope, receive, watched)
            finally:
                _describe(span, scope, status)
                metrics.HTTP_SECONDS.labels(method, _route(scope), status).observe(time.perf_counter() - began)


def _describe(span: Span | None, scope: Scope, status: int) -> None:
    if span is not None:
        span.update_name(f"{scope['method']} {_route(scope)}")
        span.set_attributes({"http.request.method": scope["method"], "http.route": _route(scope),
                             "url.path": scope["path"], "http.response.status_code": status})


def _route(scope: Scope) -> str:
    """Return the declared path: the ids in a real path would make a new series each."""
    return str(getattr(scope.get("route"), "path", "none"))
