"""An OpenAI-compatible model over HTTP that writes packages: what it says follows from its name and the question."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.servers.scripted import Answering, answering

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
    author = ScriptedAuthor("", models)
    with answering(_Handler, author) as address:
        author.url = f"{address}/v1"
        yield author


class _Handler(Answering):
    def answer(self, body: dict[str, Any]) -> None:
        author: ScriptedAuthor = self.script
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            self.send(401, {"error": {"message": "no such key"}})
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
            self.send(said, {"error": {"message": "not now"}}, {"Retry-After": "0"})
            return
        self._complete(body, {"content": said if isinstance(said, str) else json.dumps(said)})

    def _complete(self, body: dict[str, Any], message: dict[str, Any]) -> None:
        self.send(200, {
            "id": "chatcmpl-1", "object": "chat.completion", "model": body["model"], "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}})
