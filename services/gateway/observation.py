"""Traces begin here: a request that changes something, or that comes with a trace of its caller's, has a span."""

import time

from opentelemetry.trace import Span, SpanKind
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hone.telemetry import metrics, tracing

_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class Observation:
    """Outermost layer: a span where there is a trace, and how long each request took."""

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
                _name(span, scope, status)
                metrics.HTTP_SECONDS.labels(method, _route(scope), status).observe(time.perf_counter() - began)


def _name(span: Span | None, scope: Scope, status: int) -> None:
    if span is not None:
        span.update_name(f"{scope['method']} {_route(scope)}")
        span.set_attributes({"http.request.method": scope["method"], "http.route": _route(scope),
                             "url.path": scope["path"], "http.response.status_code": status})


def _route(scope: Scope) -> str:
    """Return the path as it is declared, so that ids make no new series."""
    return str(getattr(scope.get("route"), "path", "none"))
