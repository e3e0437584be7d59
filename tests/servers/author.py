"""An OpenAI-compatible model over HTTP that writes packages: what it says follows from its name and the question."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "the key of the author"
Says = Callable[[str], Any]
"""Returns for a question what is said: JSON, a text, a status to answer with (int), or seconds to wait (float)."""


@dataclass
class ScriptedAuthor:
    """Where it listens, who it is by name of a model, and what each was asked."""

    url: str
    models: dict[str, Says]
    asked: list[tuple[str, str]] = field(default_factory=list)  # model and question
    policies: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = field(default_factory=dict)
    """By name of a model: the message that it answers a request with, which may call tools."""


@contextmanager
def listening(models: dict[str, Says]) -> Iterator[ScriptedAuthor]:
    """Answer until the context ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # callers that hang up
    author = ScriptedAuthor(f"http://127.0.0.1:{server.server_address[1]}/v1", models)
    server.author = author  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield author
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        author: ScriptedAuthor = self.server.author  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            self._send(401, {"error": {"message": "no such key"}})
            return
        if body["model"] in author.policies:
            self._complete(body, author.policies[body["model"]](body))
            return
        question = body["messages"][-1]["content"]
        author.asked.append((body["model"], question))
        said = author.models[body["model"]](question)
        if isinstance(said, float):
            time.sleep(said)
        elif isinstance(said, int):
            self._send(said, {"error": {"message": "not now"}}, {"Retry-After": "0"})
            return
        self._complete(body, {"content": said if isinstance(said, str) else json.dumps(said)})

    def _complete(self, body: dict[str, Any], message: dict[str, Any]) -> None:
        self._send(200, {
            "id": "chatcmpl-1", "object": "chat.completion", "model": body["model"], "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}})

    def _send(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
