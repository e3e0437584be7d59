"""The OpenTelemetry SDK, which only processes that send spans load."""

import atexit
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Tracer

TIMEOUT_S = 2.0
"""Seconds that a collector has to take a batch; then the batch is lost."""
LAST_S = 1.0
"""Seconds after its end begins in which a process may begin to send a batch. Its supervisor waits 5 s in all."""
_DELAY_MS = 1000
_QUEUE = 8192
_BATCH = 2048

_given: ContextVar[int | None] = ContextVar("span_id", default=None)


class Ids(RandomIdGenerator):
    """Random ids, except for spans that begin within `span_id`."""

    def generate_span_id(self) -> int:
        """Return the id of the next span."""
        return _given.get() or super().generate_span_id()


class Exporter(OTLPSpanExporter):
    """Sends batches until the process has to end."""

    _until = math.inf

    def hurry(self) -> None:
        """Begin no batch later than `LAST_S` from now."""
        self._until = time.monotonic() + LAST_S

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch."""
        return SpanExportResult.FAILURE if time.monotonic() > self._until else super().export(spans)


def tracer(endpoint: str, service: str, instance: str) -> Tracer:
    """Return a tracer that sends spans in batches, from a thread of its own, until the process ends."""
    resource = Resource.create({"service.name": service, "service.namespace": "hone", "service.instance.id": instance})
    provider = TracerProvider(resource=resource, id_generator=Ids())
    exporter = Exporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=TIMEOUT_S)
    provider.add_span_processor(BatchSpanProcessor(
        exporter, max_queue_size=_QUEUE, max_export_batch_size=_BATCH, schedule_delay_millis=_DELAY_MS))
    atexit.register(exporter.hurry)  # before the provider's own, which sends what is left
    return provider.get_tracer("hone")


@contextmanager
def span_id(number: int) -> Iterator[None]:
    """Give the span that begins within this id."""
    token = _given.set(number)
    try:
        yield
    finally:
        _given.reset(token)
