"""What every environment promises: an episode is recreatable from its task, and its state can be hashed and forked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
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


class EnvironmentParams(BaseModel):
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
class Ask:
    """The environment needs somebody's words (`role`: user, say) in answer to `messages`: they are its next action."""

    role: str
    messages: list[Message]


@dataclass(frozen=True)
class Entities:
    """Names of things that exist in this episode, and of all that the environment can ever use where it knows them."""

    present: list[str]
    lexicon: list[str] | None


@dataclass(frozen=True)
class Observation:
    """What the environment says now, and beside it what the grader needs (`item`, `grader`: the policy never sees it).

    `messages` are what was added: the opening at a reset, the answer to the action after a step. An environment that
    scores itself puts that score into the last `item` as `verified`. What it does not know is None.
    """

    messages: list[Message]
    item: Row
    grader: dict[str, Any]
    turns_left: int
    state_hash: str
    tools: list[dict[str, Any]] | None = None  # as OpenAI describes functions
    admissible: list[str] | None = None
    entities: Entities | None = None
    ask: Ask | None = None


@dataclass(frozen=True)
class Transition:
    """Where a step led.

    `valid`: the environment understood the action; `effect`: it changed the state, None where that is not known;
    `reward`: None where a grader decides; `rules`: what each rule that grades turns gave, unweighted, by its name.
    """

    observation: Observation
    done: bool
    valid: bool
    reward: float | None = None
    effect: bool | None = None
    rules: Mapping[str, float] = field(default_factory=dict)


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
    def params(self) -> type[EnvironmentParams]:
        """Model of the parameters; its JSON schema is shown to users."""

    @property
    def harness(self) -> str:
        """Name of the harness that a run uses when it names none."""

    @property
    def columns(self) -> frozenset[str] | None:
        """What a dataset's rows need besides their prompt to be tasks here; None: it makes all its tasks."""

    @property
    def asked_roles(self) -> frozenset[str]:
        """Roles whose words its episodes may need; a run's spec may name another model for each than its policy."""

    @property
    def foreign(self) -> bool:
        """Whether somebody else's code makes the questions: what it does with a spec's parameters is tried apart."""

    def rules(self, params: Any) -> Mapping[str, float]:
        """Return the weight of each rule that grades turns, by its name; a step is paid their weighted sum."""

    def messages(self, params: Any, seed: int, item: Row | None) -> list[Message]:
        """Return what the policy is asked first. Raises WrongParams."""

    def content(self, params: Any, seed: int, item: Row | None) -> Any:
        """Return as JSON what makes a task itself: tasks of equal content belong to the same split. Raises WrongParams.

        A row's answer is no part of it; the world behind the question is.
        """

    def episode(self, params: Any, seed: int, item: Row | None) -> Episode:
        """Return the episode of a task. Raises WrongParams."""
