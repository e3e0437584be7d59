"""The contract of an environment: a task recreates its episode, and an episode's state can be hashed and forked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from pydantic import ConfigDict

from hone.spec.parameters import Strict

Row = dict[str, Any]
Message = dict[str, Any]
"""A message in OpenAI's form: role and content, and perhaps tool_calls, tool_call_id, name or reasoning_content."""


_LONGEST_FOUND = 500
"""Characters of a wrong value that a message shows: a row may be a megabyte."""


class WrongParams(ValueError):
    """The environment refuses a parameter, a row or a count. Holds the field, the value found and the expectation."""

    def __init__(self, field: str, found: object, expected: str) -> None:
        shown = repr(found)
        cut = shown if len(shown) <= _LONGEST_FOUND else f"{shown[:_LONGEST_FOUND]}… ({len(shown)} characters)"
        super().__init__(f"{field}: found {cut}, expected {expected}")
        self.field, self.found, self.expected = field, found, expected


class EpisodeOver(Exception):
    """The episode has ended, and a further step was taken."""


class EpisodeFailed(Exception):
    """The episode cannot go on for a reason that is not the policy's. The sample is masked."""


class EpisodeLost(Exception):
    """The world of the episode is gone, with a process elsewhere. It is made again from the task and the actions."""


class EnvironmentParams(Strict):
    """Parameters of an environment. Unknown keys and values of another type are errors."""

    model_config = ConfigDict(strict=True)


@dataclass(frozen=True)
class Task:
    """Everything that recreates an episode. Tasks that ask the same have the same `content_hash` in all runs."""

    environment: str
    params: dict[str, Any]
    seed: int
    item: Row | None
    content_hash: str
    noise: dict[str, Any] | None = None  # in the results of its tools (hone.environments.noise); no part of the content


@dataclass(frozen=True)
class Ask:
    """The environment needs an answer to `messages` in a role (a user, for instance). The answer is the next action."""

    role: str
    messages: list[Message]


@dataclass(frozen=True)
class Entities:
    """Names of things in this episode, and all names that the environment can use, where it knows these."""

    present: list[str]
    lexicon: list[str] | None


@dataclass(frozen=True)
class Observation:
    """The environment's messages to the policy, and the data for the grader, which the policy never sees.

    `messages` holds the new messages only: the opening at a reset, the answer to the action after a step. `item` and
    `grader` are for the grader. An environment that scores itself stores the score as `verified` in the last `item`.
    None: the environment does not know.
    """

    messages: list[Message]
    item: Row
    grader: dict[str, Any]
    turns_left: int
    state_hash: str
    tools: list[dict[str, Any]] | None = None  # in OpenAI's format of functions
    admissible: list[str] | None = None
    entities: Entities | None = None
    ask: Ask | None = None


@dataclass(frozen=True)
class Transition:
    """The result of a step."""

    observation: Observation
    done: bool  # whether the episode has ended
    valid: bool  # whether the environment understood the action
    reward: float | None = None  # None: a grader decides
    effect: bool | None = None  # whether the action changed the state; None: not known
    rules: Mapping[str, float] = field(default_factory=dict)  # score of each turn rule by its name, without weight
    injection: Mapping[str, Any] | None = None  # noise in the result, with the original


class Episode(Protocol):
    """One episode of one task. Equal tasks and equal actions give equal states, observations and hashes."""

    def reset(self) -> Observation:
        """Go to the first state and return its observation."""

    def step(self, action: str) -> Transition:
        """Take one action. Raises EpisodeOver when the episode has ended, EpisodeFailed and EpisodeLost."""

    def snapshot(self) -> dict[str, Any]:
        """Return the state as JSON."""

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go to the state of a snapshot of the same task."""

    def fork(self) -> "Episode":
        """Return an independent episode in the same state."""

    def state_hash(self) -> str:
        """Return the state's hash. Only equal states have equal hashes."""

    def verify(self) -> float | None:
        """Return the environment's own score of the present state; None where only a grader scores."""


class Environment(Protocol):
    """A kind of task."""

    @property
    def summary(self) -> str:
        """One sentence that tells a user what it does."""

    @property
    def params(self) -> type[EnvironmentParams]:
        """Type of the parameters. Users see its JSON schema."""

    @property
    def harness(self) -> str:
        """Name of the harness for runs that name none."""

    @property
    def columns(self) -> frozenset[str] | None:
        """Fields that a dataset's row needs besides its prompt to be a task; None: it takes no rows."""

    @property
    def asked_roles(self) -> frozenset[str]:
        """Roles that its episodes may ask. A run's spec may name a model for each; the policy speaks for the others."""

    @property
    def foreign(self) -> bool:
        """Whether code of another package makes the tasks. Such parameters are tried in a process of their own."""

    def rules(self, params: Any) -> Mapping[str, float]:
        """Return the weight of each turn rule by its name. A step's reward is the weighted sum of their scores."""

    def messages(self, params: Any, seed: int, item: Row | None) -> list[Message]:
        """Return the first messages of a task. Raises WrongParams."""

    def content(self, params: Any, seed: int, item: Row | None) -> Any:
        """Return the content of a task as JSON. Tasks of equal content belong to the same split. Raises WrongParams.

        The content includes the world behind the question, and excludes the answer.
        """

    def episode(self, params: Any, seed: int, item: Row | None) -> Episode:
        """Return the episode of a task. Raises WrongParams."""


@runtime_checkable
class Elsewhere(Protocol):
    """An episode whose world is in another process. Its calls wait for that one, beside those of other episodes.

    The environment says so (`hone.environments.capabilities.PlaysElsewhere`), and makes the world at the reset.
    """

    def close(self) -> None:
        """Let the other process forget the episode. Nothing else is called after that."""


@runtime_checkable
class TakesBack(Protocol):
    """An episode whose user can be asked again for what noise made vague."""

    def take_back(self) -> None:
        """Let the user's last answer count as not given: to ask again is no repetition."""
