"""spans: tracing is on, and what was spanned is kept here."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hone.telemetry import exporting, tracing


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    kept, provider = InMemorySpanExporter(), TracerProvider(id_generator=exporting.Ids())
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracing.use(provider.get_tracer("test"))
    yield kept
    tracing.use(None)
