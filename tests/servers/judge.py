"""An OpenAI-compatible judge over HTTP, which answers by what stands in the question: `JUDGE: number 0.5`."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.servers.scripted import Answering, answering

KEY = "the key of the judge"
_ORDER = re.compile(r"JUDGE: ([a-z0-9 .]+)")
_FENCED = re.compile(r"BEGIN \w+\n(.*)\nEND", re.DOTALL)
_COMPARED = re.compile(r"reference: (.*)\n\s*BEGIN \w+\n(.*)\nEND", re.DOTALL)


@dataclass
class ScriptedJudge:
    """Where it listens, and what it was asked."""

    url: str
    asked: list[dict[str, Any]] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)  # by order
    script: Callable[[str], str | None] | None = None  # what it says to a question; None: it follows orders
    verdict: Callable[[str], bool | str | None] | None = None  # about what is fenced; None: nothing that can be read,
    #                                                            a text: the judge is away
    says: Callable[[str], str] | None = None  # the same by a question's first message, and always
    mended: set[str] = field(default_factory=set)  # orders that are followed no longer
    stall_s: float = 1.0
    at_once: int = 0
    most_at_once: int = 0


@contextmanager
def listening() -> Iterator[ScriptedJudge]:
    """Answer until the context ends."""
    judge = ScriptedJudge("")
    with answering(_Handler, judge) as address:
        judge.url = f"{address}/v1"
        yield judge


class _Handler(Answering):
    def answer(self, body: dict[str, Any]) -> None:
        judge: ScriptedJudge = self.script
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            return self.send(401, {"error": {"message": "no such key"}})
        judge.asked.append(body)
        judge.at_once += 1
        judge.most_at_once = max(judge.most_at_once, judge.at_once)
        try:
            said = judge.script(body["messages"][-1]["content"]) if judge.script is not None else None
            if said is not None:
                return self._complete(body, said)
            if judge.says is not None:
                return self._complete(body, judge.says(str(body["messages"][0]["content"])))
            if judge.verdict is not None:
                return self._give(judge.verdict, body)
            return self._follow(judge, body)
        finally:
            judge.at_once -= 1

    def _follow(self, judge: ScriptedJudge, body: dict[str, Any]) -> None:
        """Do the last order of the question; an order with `once` is followed at its first attempt alone."""
        orders = _ORDER.findall(json.dumps(body["messages"]))
        order = orders[-1].strip() if orders else "number 1"
        judge.attempts[order] += 1
        kind, _, value = order.partition(" ")
        time.sleep({"stall": judge.stall_s, "rest": judge.stall_s, "slow": 0.05}.get(kind, 0))
        if kind == "status" and order not in judge.mended and ("once" not in value or judge.attempts[order] == 1):
            self.send(int(value.split()[0]), {"error": {"message": "not now"}}, {"Retry-After": "0"})
        elif kind == "garbage":
            self.send(200, b"<html>sign in</html>")
        elif kind == "refuse":
            self._complete(body, None, refusal="I can't help with that.")
        elif kind == "say":
            self._complete(body, value)
        elif kind == "steps":
            self._score_steps(body)
        elif kind == "look":
            self._look(body, value)
        elif kind in ("same", "picky"):
            self._compare(body, kind == "picky")
        elif kind == "seed":  # it accepts with seed 0 alone
            self._number(body, float(body["seed"] == 0))
        elif kind == "noise":
            self._complete(body, "Menu: Home.\n" + body["messages"][-1]["content"].partition("The tool's result:\n")[2])
        elif kind == "label":
            self._complete(body, json.dumps({"steps": ["why"], "result": value}))
        else:
            self._number(body, float(value) if kind == "number" else 1.0)

    def _give(self, verdict: Callable[[str], bool | str | None], body: dict[str, Any]) -> None:
        """Give 1 or 0 to what is fenced in the question."""
        fenced = _FENCED.search(body["messages"][-1]["content"])
        found = verdict(fenced[1].strip() if fenced else "")
        if isinstance(found, str):
            self.send(503, {"error": {"message": "not now"}}, {"Retry-After": "0"})
        elif found is None:
            self._complete(body, "I am not sure.")
        else:
            self._number(body, float(found))

    def _compare(self, body: dict[str, Any], picky: bool) -> None:
        """Give 1 to an answer that equals the reference. Who is picky refuses answers that begin with 1 or 2."""
        found = _COMPARED.search(body["messages"][-1]["content"])
        reference, answer = found.groups() if found else ("", "nothing")
        if picky and answer.strip()[:1] in ("1", "2"):
            self._complete(body, None, refusal="I won't look at this.")
        else:
            self._number(body, float(answer.strip() == reference.strip()))

    def _score_steps(self, body: dict[str, Any]) -> None:
        """Give the first step 0.5, and each later one the half of the one before."""
        count = body["response_format"]["json_schema"]["schema"]["properties"]["scores"]["minItems"]
        self._complete(body, json.dumps({"scores": [0.5 ** place for place in range(1, count + 1)]}))

    def _look(self, body: dict[str, Any], value: str) -> None:
        """Count the items of a database after the work or before it, or read a part of the state by its name.

        The task is done if it is the value that is wanted.
        """
        state, wanted = value.split()
        seen = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        if not seen:
            count = {"sql": "SELECT count(*) FROM items"}
            tool, arguments = {"after": ("query", count), "before": ("query_before", count)}.get(
                state, ("read_state", {"path": state}))
            return self._complete(body, None, tool_calls=[{"id": "call_1", "type": "function", "function": {
                "name": tool, "arguments": json.dumps(arguments)}}])
        done = int(seen[0] == f"evidence 1\n{wanted}")
        return self._complete(body, json.dumps({"reasons": [{"claim": "it is there", "evidence": 1, "ok": bool(done)}],
                                                "verdicts": {"done": done}, "confidence": 1}))

    def _number(self, body: dict[str, Any], number: float) -> None:
        self._complete(body, json.dumps({"steps": [{"description": "why", "conclusion": "so"}], "result": number}))

    def _complete(self, body: dict[str, Any], text: str | None, **more: Any) -> None:
        self.send(200, {
            "id": "chatcmpl-1", "object": "chat.completion", "model": body["model"], "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text, **more}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}})
