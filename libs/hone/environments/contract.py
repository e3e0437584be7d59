"""What every environment promises: an episode is recreatable from its task, and its state can be hashed and forked."""

from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict
from pydantic_core import ErrorDetails

Row = dict[str, Any]
Message = dict[str, str]


class WrongParams(ValueError):
    """A parameter, a row or a count is not what the environment takes; names field, found and expected."""

    def __init__(self, field: str, found: object, expected: str) -> None:
        super().__init__(f"{field}: found {found!r}, expected {expected}")
        self.field, self.found, self.expected = field, found, expected


def expectation(error: ErrorDetails) -> str:
    """Return what a validation error says was expected, in the words of our own errors."""
    return error["msg"].removeprefix("Input should be ").removeprefix("Value error, ")


class EpisodeOver(Exception):
    """A step was taken after the episode's last one."""


class Params(BaseModel):
    """Parameters of an environment. Unknown keys are errors, nothing is coerced."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@dataclass(frozen=True)
class Task:
    """Everything needed to recreate an episode; `content_hash` names what it asks, across runs and seeds."""

    environment: str
    params: dict[str, Any]
    seed: int
    item: Row | None
    content_hash: str


@dataclass(frozen=True)
class Observation:
    """What the policy sees, and beside it what the grader needs (`item`, `grader`: never shown to the policy)."""

    messages: list[Message]
    item: Row
    grader: dict[str, Any]
    turns_left: int
    state_hash: str


@dataclass(frozen=True)
class Transition:
    """Where a step led. `valid`: the environment understood the action; `reward`: None where a grader decides."""

    observation: Observation
    done: bool
    valid: bool
    reward: float | None = None


class Episode(Protocol):
    """One episode of one task. Equal tasks and equal actions give equal states, observations and hashes."""

    def reset(self) -> Observation:
        """Go to the first state and return what is seen there."""

    def step(self, action: str) -> Transition:
        """Take one action. Raises EpisodeOver after the last."""

    def snapshot(self) -> dict[str, Any]:
        """Return the state as JSON."""

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go to the state of a snapshot of the same task."""

    def fork(self) -> "Episode":
        """Return an independent episode in the same state."""

    def state_hash(self) -> str:
        """Return a hash that is equal exactly for equal states."""

    def verify(self) -> float | None:
        """Return the environment's own score of the present state; None where only a grader can tell."""


class Environment(Protocol):
    """A kind of task."""

    @property
    def summary(self) -> str:
        """One sentence for a person who chooses."""

    @property
    def params(self) -> type[Params]:
        """Model of the parameters; its JSON schema is shown to users."""

    def messages(self, params: Any, seed: int, item: Row | None) -> list[Message]:
        """Return what the policy is asked first; the content hash is taken over it. Raises WrongParams."""

    def episode(self, params: Any, seed: int, item: Row | None) -> Episode:
        """Return the episode of a task. Raises WrongParams."""
