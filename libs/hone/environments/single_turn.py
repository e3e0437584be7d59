"""Tasks with one question and one answer, and their episode."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hone.environments.contract import EpisodeOver, Message, Observation, Row, Transition
from hone.environments.hashing import digest
from hone.spec.snapshots import fields_of


@dataclass(frozen=True)
class Question:
    """A question, the row for its grader, and the grader for runs that name none."""

    messages: list[Message]
    item: Row
    grader: dict[str, Any]
    tools: list[dict[str, Any]] | None = None  # that the chat template shows, in OpenAI's format of functions


class Asks(ABC):
    """Base of environments with single questions. The question is the whole content of a task."""

    harness = "chat"
    columns: frozenset[str] | None = None
    asked_roles: frozenset[str] = frozenset()
    foreign = False

    def rules(self, params: Any) -> Mapping[str, float]:
        return {}

    @abstractmethod
    def messages(self, params: Any, seed: int, item: Row | None) -> list[Message]:
        """Return the question."""

    def content(self, params: Any, seed: int, item: Row | None) -> Any:
        return self.messages(params, seed, item)


class SingleTurn:
    """An episode of one step. A grader scores it."""

    def __init__(self, question: Question, answer: str | None = None) -> None:
        self._question, self._answer = question, answer

    def reset(self) -> Observation:
        self._answer = None
        return self._observation()

    def step(self, action: str) -> Transition:
        if self._answer is not None:
            raise EpisodeOver("the only answer of this episode has been given")
        self._answer = action
        return Transition(self._observation(), done=True, valid=True)

    def snapshot(self) -> dict[str, Any]:
        return {"answer": self._answer}

    def restore(self, snapshot: dict[str, Any]) -> None:
        self._answer = fields_of(snapshot, {"answer": str | None})["answer"]

    def fork(self) -> "SingleTurn":
        return SingleTurn(self._question, self._answer)

    def state_hash(self) -> str:
        return digest({"messages": self._question.messages, "item": self._question.item, "answer": self._answer})

    def verify(self) -> float | None:
        return None

    def _observation(self) -> Observation:
        asked, answer = self._question, self._answer
        said = asked.messages if answer is None else []
        return Observation(said, asked.item, asked.grader, int(answer is None), self.state_hash(), asked.tools)
