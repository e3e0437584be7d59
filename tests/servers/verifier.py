"""A verify server over HTTP, as NeMo Gym's are. It does what the answer says: `VERIFY: reward 0.5`."""

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "the key of the verify server"
_ORDER = re.compile(r"VERIFY: ([a-z0-9 .-]+)")
_ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "nan": {"reward": float("nan")}, "text": {"reward": "good"}, "none": {"reward": None}, "true": {"reward": True},
    "part": {"reward": 0.5, "reward_components": {"format": float("inf")}},
    "masked": {"reward": 0.0, "mask_sample": True, "failure_reason": "the session was lost"},
    "judge": {"reward": 0.0, "_ng_failure_class": "judge_failed", "_ng_failure_judge_error": "no verdict"}}
"""What is sent beside the request, by order."""


@dataclass
class ScriptedVerifier:
    """Where it listens, and what it was asked."""

    url: str
    asked: list[dict[str, Any]] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)  # by order


@contextmanager
def listening() -> Iterator[ScriptedVerifier]:
    """Answer until the context ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # callers that hang up
    verifier = ScriptedVerifier(f"http://127.0.0.1:{server.server_address[1]}/gym")
    server.verifier = verifier  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield verifier
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        verifier: ScriptedVerifier = self.server.verifier  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/gym/verify" or self.headers.get("Authorization") != f"Bearer {KEY}":
            return self._send(401, {"detail": "not here, or no such key"})
        verifier.asked.append(body)
        answer = body["response"]["output"][0]["content"][0]["text"]
        order = next(iter(_ORDER.findall(answer)), "reward 1").strip()
        verifier.attempts[order] += 1
        kind, _, value = order.partition(" ")
        time.sleep({"stall": 3.0}.get(kind, 0))
        if kind == "status" and ("once" not in value or verifier.attempts[order] == 1):
            return self._send(int(value.split()[0]), {"detail": "the sandbox is away"}, {"Retry-After": "0"})
        if kind == "garbage":
            return self._send(200, b"<html>sign in</html>")
        if kind == "silent":
            return self._send(200, body)
        reward = float(value) if kind == "reward" else 1.0
        given = _ANSWERS.get(kind, {"reward": reward, "reward_components": {"exact": reward, "format": 1.0}})
        return self._send(200, {**body, **given})

    def _send(self, status: int, body: Mapping[str, Any] | bytes, headers: Mapping[str, str] | None = None) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
