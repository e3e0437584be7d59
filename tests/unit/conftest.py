"""Fixtures of unit tests.

spans        tracing is on, and what was spanned is kept here
stock_here   the stock library loads exports in this process: to import it in another one takes seconds
"""

import json
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


@pytest.fixture
def stock_here(monkeypatch: pytest.MonkeyPatch) -> None:
    from hone.models import exporting, verify  # torch, which most unit tests do without

    def answer(directories: list[str], probes: str) -> str:
        model = verify.loaded(*directories)
        return json.dumps({"max_abs_diff": max(
            verify.largest_difference(model, one["ids"], one["logp"]) for one in json.loads(probes))})

    monkeypatch.setattr(exporting, "_stock_answer", answer)
