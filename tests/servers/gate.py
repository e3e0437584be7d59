"""A gate before an S3 server: it passes requests on, or refuses writes as a server that is full or overloaded does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

from hone.stack import ports

_OWN = {"connection", "transfer-encoding", "content-length", "keep-alive", "date", "server"}
_WRITES = {"PUT", "POST"}


@dataclass
class Gate:
    """`refusal` is the code and the status of S3 that writes are refused with; None: they pass."""

    endpoint: str
    refusal: tuple[str, int] | None = None
    refused: int = 0


@contextmanager
def before(endpoint: str) -> Iterator[Gate]:
    """Yield an open gate before the server at host:port. Signatures hold, because it passes the Host header on."""
    gate = Gate(f"127.0.0.1:{ports.pick(1)[0]}")
    handler = type("Handler", (_Handler,), {"gate": gate, "behind": endpoint})
    server = ThreadingHTTPServer(("127.0.0.1", int(gate.endpoint.rpartition(":")[2])), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield gate
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    gate: ClassVar[Gate]
    behind: ClassVar[str]

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.gate.refusal and self.command in _WRITES:
            self.gate.refused += 1
            code, status = self.gate.refusal
            self._answer(status, {"Content-Type": "application/xml"},
                         f"<Error><Code>{code}</Code><Message>words</Message></Error>".encode())
            return
        connection = HTTPConnection(self.behind, timeout=60)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() != "connection":
                    connection.putheader(name, value)
            connection.endheaders(body or None)
            answer = connection.getresponse()
            self._answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in _OWN:
                self.send_header(name, value)
        length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(body))
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing."""
