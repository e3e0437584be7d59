"""Requests of a rollout to the policy: each has to continue one conversation, as Hone's harnesses need."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]


class Failed(Exception):
    """An episode has no reward, in the package's words."""


class Refused(Exception):
    """The environment, or what it asks, cannot be played here."""


@dataclass
class Conversation:
    """One episode's. `write` sends a message out, `answers` has those that come in."""

    write: Callable[[Message], None]
    answers: "asyncio.Queue[Message]" = field(default_factory=asyncio.Queue)
    refused: Refused | None = None
    _known: list[Message] = field(default_factory=list)
    _waits: bool = False
    _begun: bool = False
    _turn: ExitStack = field(default_factory=ExitStack)

    async def begins(self, free: asyncio.Semaphore) -> None:
        """Wait for a turn to start processes, one an episode. It ends where the policy is asked, or by `end_turn`."""
        if self._begun:
            return
        self._begun = True
        await free.acquire()
        self._turn.callback(free.release)

    def end_turn(self) -> None:
        """Let another episode start its processes."""
        self._turn.close()

    async def asked(self, prompt: list[Any], tools: list[Message]) -> Message:
        """Return the policy's answer to messages: a `text`, or a `tool` with its `arguments`. Raises Refused."""
        try:
            messages = [plain(one) for one in prompt]
            self._expect_continued(messages)
        except Refused as refused:
            self.refused = self.refused or refused
            raise
        self._waits = self._begun = True
        self.end_turn()
        self.write({"asked": messages[len(self._known):], "tools": tools})
        answer = await self.answers.get()
        self._waits, self._known = False, messages
        return answer

    def said(self, message: Any) -> None:
        """Take the answer, as a message of the package, for a part of the conversation."""
        self._known = [*self._known, plain(message)]

    def refuse(self, reason: str) -> Refused:
        """Return the error for something that cannot be asked. The episode has no reward from now on."""
        self.refused = self.refused or Refused(reason)
        return self.refused

    def _expect_continued(self, messages: list[Message]) -> None:
        if self.refused is not None:
            raise self.refused
        if self._waits or messages[:len(self._known)] != self._known:
            raise Refused("its prompts do not continue the conversation, which Hone's harnesses need")


def plain(message: Any) -> Message:
    """Return role and text of a message, and the calls in it. Raises Refused."""
    given = message if isinstance(message, dict) else message.model_dump(exclude_none=True)
    content = given.get("content") or ""
    if not isinstance(content, str):
        if any(part.get("type") != "text" for part in content):
            raise Refused("a message has parts that are no text")
        content = "".join(part["text"] for part in content)
    calls = [[one["name"], one["arguments"]] for one in given.get("tool_calls") or []]
    return {"role": given["role"], "content": content, **({"calls": calls} if calls else {})}


def function(name: str, description: str, parameters: Any) -> Message:
    """Return a tool in OpenAI's format."""
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
