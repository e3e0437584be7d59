"""An episode in a world of others. The world has no snapshot: a state is the actions that led to it.

A fork, a restored session and one that was lost are a new world in which the actions are repeated. The hash of a state
is a chain over all that the world answered, so a world that answers otherwise has another hash.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from hone.environments.contract import EpisodeLost, EpisodeOver, Message, Observation, Row, Transition
from hone.environments.foreign.losses import LOSSES
from hone.environments.hashing import digest
from hone.spec.snapshots import fields_of
from hone.text.storable import storable

LONGEST = 100_000
"""Characters of an answer that are shown."""


@dataclass(frozen=True)
class Heard:
    """Answer of a world. `score`: its reward so far, from 0 to 1; None: nothing."""

    messages: list[Message]
    done: bool = False
    valid: bool = True
    score: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)  # for graders and people; part of no hash


class Connection(Protocol):
    """A connection to a world, for one episode."""

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """The tools that it offers, in OpenAI's format, once it was reset."""

    def reset(self) -> Heard:
        """Begin. Raises WrongParams for what is no such world, and EpisodeLost where it cannot be reached now."""

    def step(self, action: str) -> Heard:
        """Take an action. Raises EpisodeFailed, and EpisodeLost where the world is gone."""

    def close(self) -> None:
        """Leave the world. May be called at any time, and again."""


@dataclass(frozen=True)
class Played:
    """Constants of all states of a task: how its world is made, and who grades."""

    identity: Any  # JSON: what recreates the world
    make: Callable[[], Connection]
    turns: int
    item: Row = field(default_factory=dict)
    grader: Mapping[str, Any] = field(default_factory=lambda: {"type": "environment"})


class ForeignEpisode:
    """One episode of a task."""

    def __init__(self, task: Played) -> None:
        self._task, self._world = task, task.make()
        self._actions, self._hash = list[str](), ""
        self._heard = Heard([])

    def reset(self) -> Observation:
        self._world.close()
        self._world, self._actions = self._task.make(), []
        try:
            self._heard = _storable(self._world.reset())
        except BaseException:
            self._world.close()
            raise
        self._hash = digest([self._task.identity, self._answer()])
        return self._seen()

    def step(self, action: str) -> Transition:
        if self._over():
            raise EpisodeOver("the world has ended the episode, or its turns are used up")
        with LOSSES.counted(digest([self._hash, action])):
            self._heard = _storable(self._world.step(action))
        self._actions.append(action)
        self._hash = digest([self._hash, action, self._answer()])
        return Transition(self._seen(), self._over(), self._heard.valid)

    def snapshot(self) -> dict[str, Any]:
        """Return the actions. The world itself cannot be stored."""
        return {"actions": list(self._actions), "hash": self._hash}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Repeat the actions in a new world. Raises EpisodeLost where that leads to another state, and leaves it."""
        given = fields_of(snapshot, {"actions": list[str], "hash": str})
        try:
            self.reset()
            for action in given["actions"]:
                self.step(action)
            if self._hash != given["hash"]:
                raise EpisodeLost("the world answered otherwise when the actions were repeated")
        except BaseException:
            self.close()
            raise

    def fork(self) -> "ForeignEpisode":
        """Return an episode in a world of its own, where the actions were repeated. Raises EpisodeLost."""
        other = ForeignEpisode(self._task)
        other.restore(self.snapshot())
        return other

    def state_hash(self) -> str:
        return self._hash

    def verify(self) -> float | None:
        """Return the world's reward so far; None: nothing, or a grader scores."""
        return self._heard.score

    def close(self) -> None:
        """Leave the world."""
        self._world.close()

    def _over(self) -> bool:
        return self._heard.done or len(self._actions) >= self._task.turns

    def _answer(self) -> Any:
        heard = self._heard
        return [heard.messages, heard.done, heard.valid, heard.score]

    def _seen(self) -> Observation:
        scored = {} if self._heard.score is None else {"verified": self._heard.score}
        return Observation(
            self._heard.messages, {**self._task.item, **self._heard.facts, **scored}, dict(self._task.grader),
            self._task.turns - len(self._actions), self._hash, storable(self._world.tools))


def _storable(heard: Heard) -> Heard:
    """Return the answer of a world with texts that every message can carry."""
    return replace(heard, messages=storable(heard.messages), facts=storable(heard.facts))
