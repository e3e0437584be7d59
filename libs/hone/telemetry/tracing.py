"""Traces: spans that belong to a traced request, made only where there is one.

The gateway begins traces; everybody else goes on with what came with a call, a message or a row. Without a collector
every function here returns at once.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import cast

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

HEADER = "traceparent"

Place = Context
"""Where in a trace somebody stands."""

_LINKS = context.create_key("hone-links")
_NOWHERE = Context()
_propagator = TraceContextTextMapPropagator()
_tracer: Tracer | None = None


def configure(endpoint: str, service: str, instance: str) -> None:
    """Send this process's spans to the OTLP/HTTP collector at `endpoint`; without one nothing is traced."""
    global _tracer  # noqa: PLW0603 — one process, one destination
    if not endpoint:
        return
    from hone.telemetry import exporting  # the SDK costs a quarter of a second and memory: only who traces loads it

    _tracer = exporting.tracer(endpoint, service, instance)


def use(tracer: Tracer | None) -> None:
    """Make spans with this tracer from now on; None ends tracing."""
    global _tracer  # noqa: PLW0603
    _tracer = tracer


def on() -> bool:
    """Tell whether this process sends spans anywhere."""
    return _tracer is not None


def begin(
    name: str, kind: SpanKind = SpanKind.INTERNAL, root: bool = False, **attributes: AttributeValue
) -> Span | None:
    """Begin a span under the present one; None where that one is not traced, unless this may be the root of a trace."""
    if _tracer is None:
        return None
    here = context.get_current()
    if not (root or _traced(here)):
        return None
    links = cast("Sequence[Link] | None", context.get_value(_LINKS, here))
    return _tracer.start_span(name, here, kind, attributes, links or ())


def end(span: Span, error: str | None = None) -> None:
    """End a span, as failed where there is an error."""
    if error is not None:
        span.set_status(Status(StatusCode.ERROR, error))
    span.end()


@contextmanager
def span(
    name: str, kind: SpanKind = SpanKind.INTERNAL, root: bool = False, **attributes: AttributeValue
) -> Iterator[Span | None]:
    """Span what is done within, as `begin` says; what is begun there is its child."""
    begun = begin(name, kind, root, **attributes)
    if begun is None:
        yield None
        return
    token = context.attach(trace.set_span_in_context(begun, _NOWHERE))
    error: str | None = None
    try:
        yield begun
    except BaseException as raised:
        error = f"{type(raised).__name__}: {raised}"
        raise
    finally:
        context.detach(token)
        end(begun, error)


@contextmanager
def under(traceparent: object) -> Iterator[None]:
    """Let what is begun within belong to the span of a W3C traceparent; to none where this is no such text."""
    if _tracer is None:
        yield
        return
    token = context.attach(_parsed(traceparent))
    try:
        yield
    finally:
        context.detach(token)


@contextmanager
def together(places: Sequence[Place | None]) -> Iterator[None]:
    """Let what is begun within belong to the first of these that is traced, and link it to the others."""
    if _tracer is None:
        yield
        return
    first, *others = [place for place in places if place is not None] or [_NOWHERE]
    links = tuple(Link(trace.get_current_span(other).get_span_context()) for other in others)
    token = context.attach(context.set_value(_LINKS, links, first))
    try:
        yield
    finally:
        context.detach(token)


def here() -> Place | None:
    """Return the present place in a trace, for `together`; None where there is none."""
    if _tracer is None:
        return None
    place = context.get_current()
    return place if _traced(place) else None


def current(span: Span | None = None) -> str | None:
    """Return the W3C traceparent of a span, default the present one; None where it is not traced."""
    if _tracer is None:
        return None
    place = context.get_current() if span is None else trace.set_span_in_context(span, _NOWHERE)
    carrier: dict[str, str] = {}
    if _traced(place):
        _propagator.inject(carrier, place)
    return carrier.get(HEADER)


def child(traceparent: str, key: str) -> str:
    """Return the traceparent of a span under another, the same at any time: others can be its children before it is
    reported.
    """
    version, trace_id, _, flags = traceparent.split("-")
    span_id = hashlib.sha256(f"{traceparent} {key}".encode()).hexdigest()[:16]
    return f"{version}-{trace_id}-{span_id}-{flags}"


def report(
    name: str, parent: str, key: str, began: datetime, ended: datetime, **attributes: AttributeValue
) -> None:
    """Send a span that is over: the one that `child(parent, key)` names."""
    if _tracer is None:
        return
    from hone.telemetry import exporting

    with under(parent), exporting.span_id(int(child(parent, key).split("-")[2], 16)):
        span = _tracer.start_span(name, attributes=attributes, start_time=_nanoseconds(began))
    span.end(_nanoseconds(ended))


def ids() -> dict[str, str]:
    """Return the present trace_id and span_id as logs have them; empty where there is no trace."""
    if _tracer is None:
        return {}
    found = trace.get_current_span().get_span_context()
    if not found.is_valid:
        return {}
    return {"trace_id": trace.format_trace_id(found.trace_id), "span_id": trace.format_span_id(found.span_id)}


def _parsed(traceparent: object) -> Context:
    if not isinstance(traceparent, str):
        return _NOWHERE
    return _propagator.extract({HEADER: traceparent}, _NOWHERE)


def _traced(place: Context) -> bool:
    found = trace.get_current_span(place).get_span_context()
    return found.is_valid and found.trace_flags.sampled


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1e6) * 1000
