"""A user that a model plays: it reads the whole scenario, and finds words, calls of its tools, and the end itself.

Its texts end the conversation with the marks of tau2-bench.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hone.environments.contract import EpisodeFailed, Message
from hone.environments.tau2.talk import Said
from hone.environments.tau2.task import UserScenario
from hone.environments.written_calls import written_calls
from hone.spec.snapshots import fields_of
from hone.text.reasoning import Unfinished, said
from hone.users.prompts import GREETING, STOP

ENDS = {STOP: "stop", "###TRANSFER###": "transfer", "###OUT-OF-SCOPE###": "out_of_scope"}
"""Marks with which a user's text is its last, and what each means."""
_RULES = (
    "You are a customer who talks to a customer service agent. Write the customer's next message, and nothing else.",
    "Keep to the scenario below. What it does not say, you do not know: never make anything up.",
    "Be brief, and use your own words. Give information only when it is asked for.",
    f"When you have what you want, write {STOP}. When the agent says that it hands you over to a person, write "
    "###TRANSFER###. When the scenario does not say enough to go on, write ###OUT-OF-SCOPE###.",
)
_TOOL_RULES = (
    "You have tools, with which you do what the agent asks for on your side. What you say about your side has to come "
    "from them. In each message either speak, or call one tool; the agent does not see your calls. To call one, write "
    'this alone:\n<tool_call>\n{"name": <name>, "arguments": <object>}\n</tool_call>')


class ModelUser:
    """The conversation of a user whose words are asked for."""

    def __init__(
        self, scenario: UserScenario, tools: Sequence[Mapping[str, Any]], guidelines: Sequence[str],
        most_retries: int, before: Sequence[Message] = (),
    ) -> None:
        """`before`: what user and agent said before the first turn, the agent's as the role assistant."""
        self._system = "\n".join([
            *_RULES, *guidelines, *([_TOOL_RULES, "Your tools:", *map(json.dumps, tools)] if tools else []),
            f"<scenario>\n{scenario.text}\n</scenario>"])
        self._tools, self._most_retries = [dict(tool) for tool in tools], most_retries
        self._spoken: list[Message] = [
            {"role": "user" if one["role"] == "assistant" else "assistant", "content": one["content"]}
            for one in before] or [{"role": "user", "content": GREETING}]
        self._refused = 0

    def opening(self) -> Said:
        """Ask for the first words."""
        return self._asked()

    def hear(self, text: str, leaves: Callable[[], bool]) -> Said:  # it decides itself when it leaves
        """Take a text of the agent."""
        self._spoken.append({"role": "user", "content": text})
        return self._asked()

    def saw(self, results: Sequence[str], leaves: Callable[[], bool]) -> Said:
        """Take what the user's tools said."""
        self._spoken.append({"role": "user", "content": "[your tool] " + "\n".join(results)})
        return self._asked()

    def answer(self, words: str) -> Said:
        """Take the model's words. Raises EpisodeFailed where it says nothing too often."""
        spoken, calls = _read(words, self._tools)
        mark = next((mark for mark in ENDS if mark in spoken), None)
        if calls:
            self._added(words)
            return Said(calls=calls)
        for one in ENDS:
            spoken = spoken.replace(one, "")
        if not spoken.strip() and mark is None:
            self._refused += 1
            if self._refused > self._most_retries:
                raise EpisodeFailed(f"the user's model said nothing {self._refused} times")
            return self._asked()
        self._added(words)
        return Said(spoken.strip(), ended=ENDS[mark] if mark else "")

    def snapshot(self) -> dict[str, Any]:
        return {"spoken": list(self._spoken), "refused": self._refused}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        given = fields_of(snapshot, {"spoken": list[dict[str, Any]], "refused": int})
        self._spoken, self._refused = given["spoken"], given["refused"]

    def _added(self, words: str) -> None:
        self._spoken.append({"role": "assistant", "content": words.strip()})
        self._refused = 0

    def _asked(self) -> Said:
        return Said(asks=[{"role": "system", "content": self._system}, *self._spoken])


def _read(words: str, tools: Sequence[dict[str, Any]]) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """Return a model's words without its reasoning, and the calls in it; a call that cannot be read is of no tool."""
    try:
        spoken = said(words)
    except Unfinished:
        return "", []
    calls = written_calls(spoken, list(tools)) if tools else []
    return spoken, [(call.tool or "", call.arguments) for call in calls]
