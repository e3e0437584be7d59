"""HTTP servers that follow a test's script: requests and answers are JSON, each request has a thread of its own."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Answering(BaseHTTPRequestHandler):
    """Base of what answers a request. `script` is what the test gave the server."""

    protocol_version = "HTTP/1.1"

    @property
    def script(self) -> Any:
        return self.server.script  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def answer(self, body: dict[str, Any]) -> None:
        """Answer a request, whose body this is."""
        raise NotImplementedError

    def send(self, status: int, body: Mapping[str, Any] | bytes, headers: Mapping[str, str] | None = None) -> None:
        """Answer with JSON, or with bytes as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def answering(by: type[Answering], script: Any) -> Iterator[str]:
    """Answer until the context ends, and yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), by)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # callers that hang up
    server.script = script  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
