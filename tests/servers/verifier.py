"""A verify server over HTTP, as NeMo Gym's are. It does what the answer says: `VERIFY: reward 0.5`."""

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.servers.scripted import Answering, answering

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
    verifier = ScriptedVerifier("")
    with answering(_Handler, verifier) as address:
        verifier.url = f"{address}/gym"
        yield verifier


class _Handler(Answering):
    def answer(self, body: dict[str, Any]) -> None:
        verifier: ScriptedVerifier = self.script
        if self.path != "/gym/verify" or self.headers.get("Authorization") != f"Bearer {KEY}":
            return self.send(401, {"detail": "not here, or no such key"})
        verifier.asked.append(body)
        answer = body["response"]["output"][0]["content"][0]["text"]
        order = next(iter(_ORDER.findall(answer)), "reward 1").strip()
        verifier.attempts[order] += 1
        kind, _, value = order.partition(" ")
        time.sleep({"stall": 3.0}.get(kind, 0))
        if kind == "status" and ("once" not in value or verifier.attempts[order] == 1):
            return self.send(int(value.split()[0]), {"detail": "the sandbox is away"}, {"Retry-After": "0"})
        if kind == "garbage":
            return self.send(200, b"<html>sign in</html>")
        if kind == "silent":
            return self.send(200, body)
        reward = float(value) if kind == "reward" else 1.0
        given = _ANSWERS.get(kind, {"reward": reward, "reward_components": {"exact": reward, "format": 1.0}})
        return self.send(200, {**body, **given})
