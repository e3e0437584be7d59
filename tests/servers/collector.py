"""An OTLP/HTTP collector: takes what exporters send and keeps every span."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True)
class Span:
    """A span as it came; ids are hexadecimal, times nanoseconds."""

    service: str
    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str  # empty for a root
    links: tuple[str, ...]  # span ids
    began: int
    ended: int
    failed: bool
    attributes: dict[str, Any]


class Collector:
    """What came so far."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._spans: list[Span] = []
        self._lock = threading.Lock()

    def add(self, body: bytes) -> None:
        """Take one export request."""
        found = [
            _span(_service(resource), span)
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans for span in scope.spans]
        with self._lock:
            self._spans += found

    def spans(self, trace_id: str) -> list[Span]:
        """Return the spans of one trace."""
        with self._lock:
            return [span for span in self._spans if span.trace_id == trace_id]

    def everything(self) -> list[Span]:
        """Return every span."""
        with self._lock:
            return list(self._spans)


@contextmanager
def running() -> Iterator[Collector]:
    """Listen on a port of its own until the end."""
    collector: Collector

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            collector.add(self.rfile.read(int(self.headers["Content-Length"])))
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _service(resource: Any) -> str:
    return str(_attributes(resource.resource.attributes)["service.name"])


def _span(service: str, span: Any) -> Span:
    return Span(
        service, span.name, span.kind, span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex(),
        tuple(link.span_id.hex() for link in span.links), span.start_time_unix_nano, span.end_time_unix_nano,
        span.status.code == span.status.STATUS_CODE_ERROR, _attributes(span.attributes))


def _attributes(found: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in found}
