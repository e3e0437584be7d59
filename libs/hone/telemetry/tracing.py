"""Traces: spans of traced requests.

The gateway begins a trace. Every other process continues the trace whose context came with a call, a message or a row.
Without a collector every function here returns at once.
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
"""A place in a trace: the span that is active there."""

_LINKS = context.create_key("hone-links")
_NOWHERE = Context()
_propagator = TraceContextTextMapPropagator()
_tracer: Tracer | None = None


def configure(endpoint: str, service: str, instance: str) -> None:
    """Send the spans of this process to the OTLP/HTTP collector at `endpoint`. Without one nothing is traced."""
    global _tracer  # noqa: PLW0603 — one process, one destination
    if not endpoint:
        return
    from hone.telemetry import exporting  # the SDK takes a quarter of a second and memory

    _tracer = exporting.tracer(endpoint, service, instance)


def use(tracer: Tracer | None) -> None:
    """Use this tracer for spans from now on; None ends tracing."""
    global _tracer  # noqa: PLW0603
    _tracer = tracer


def on() -> bool:
    """Return whether this process sends spans."""
    return _tracer is not None


def begin(
    name: str, kind: SpanKind = SpanKind.INTERNAL, root: bool = False, **attributes: AttributeValue
) -> Span | None:
    """Begin a span under the active one. Return None if that one is not traced and `root` is false."""
    if _tracer is None:
        return None
    here = context.get_current()
    if not (root or _traced(here)):
        return None
    links = cast("Sequence[Link] | None", context.get_value(_LINKS, here))
    return _tracer.start_span(name, here, kind, attributes, links or ())


def end(span: Span, error: str | None = None) -> None:
    """End a span, as failed if there is an error."""
    if error is not None:
        span.set_status(Status(StatusCode.ERROR, error))
    span.end()


@contextmanager
def span(
    name: str, kind: SpanKind = SpanKind.INTERNAL, root: bool = False, **attributes: AttributeValue
) -> Iterator[Span | None]:
    """Make a span of the body, as `begin` does. Spans that begin in the body are its children."""
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
    """Make the span of a W3C traceparent the parent of spans that begin within; another value is no parent."""
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
    """Make the first place that is traced the parent of spans that begin within, and link them to the other places."""
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
    """Return the present place in a trace, for `together`, or None without a trace."""
    if _tracer is None:
        return None
    place = context.get_current()
    return place if _traced(place) else None


def current(span: Span | None = None) -> str | None:
    """Return the W3C traceparent of a span, by default the active one, or None if it is not traced."""
    if _tracer is None:
        return None
    place = context.get_current() if span is None else trace.set_span_in_context(span, _NOWHERE)
    carrier: dict[str, str] = {}
    if _traced(place):
        _propagator.inject(carrier, place)
    return carrier.get(HEADER)


def child(traceparent: str, key: str) -> str:
    """Return the traceparent of a span under another one.

    It is the same at any time, so that the span can have children before it is reported.
    """
    version, trace_id, _, flags = traceparent.split("-")
    span_id = hashlib.sha256(f"{traceparent} {key}".encode()).hexdigest()[:16]
    return f"{version}-{trace_id}-{span_id}-{flags}"


def report(
    name: str, parent: str, key: str, began: datetime, ended: datetime, **attributes: AttributeValue
) -> None:
    """Send a span that has ended, with the id of `child(parent, key)`."""
    if _tracer is None:
        return
    from hone.telemetry import exporting

    with under(parent), exporting.span_id(int(child(parent, key).split("-")[2], 16)):
        span = _tracer.start_span(name, attributes=attributes, start_time=_nanoseconds(began))
    span.end(_nanoseconds(ended))


def ids() -> dict[str, str]:
    """Return the present trace_id and span_id for a log line, empty without a trace."""
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
