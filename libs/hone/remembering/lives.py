"""A life: a user, the variables of its state, how they change over periods, and what is asked about it. AMemGym.

The words are those of arXiv 2603.01966: a schema Sigma, states sigma_t, changes U_t, events, openers, options A_i.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field, model_validator

from hone.remembering.vocabulary import MOST_QUESTIONS, MOST_VALUES, MOST_VARIABLES
from hone.spec.parameters import Strict

State = Mapping[str, str]
Schema = Mapping[str, tuple[str, ...]]


class Sizes(Strict):
    """How large a life is. The defaults are the configuration `base` of the paper's code, its M after merging is ours.
    """

    variables: int = Field(16, ge=1, le=MOST_VARIABLES, description="M, variables of the user's state.")
    values: int = Field(3, ge=2, le=MOST_VALUES, description="c, values of each variable, of which one is true.")
    questions: int = Field(10, ge=1, le=MOST_QUESTIONS, description="Nq, questions asked after each period.")
    required: int = Field(2, ge=1, le=5, description="k, variables that a question's right answer depends on.")
    periods: int = Field(10, ge=0, le=50, description="Np, periods after the first one, in which all is said.")
    months: int = Field(3, ge=1, le=24, description="Months of a period of the simulated calendar.")
    changes: int = Field(4, ge=1, le=MOST_VARIABLES, description="n: each period changes n - 1 to n + 1 variables.")
    most_changes: int = Field(3, ge=1, description="Changes of one variable, as far as others are left to change.")
    options: int = Field(4, ge=2, le=25, description="Fewest answers of a question, where there are as many different "
                         "states of its variables.")
    first_rounds: int = Field(1, ge=1, le=20, description="Rounds of a session of the first period.")
    rounds: int = Field(2, ge=1, le=20, description="Rounds of a session of later periods: user and assistant.")

    @model_validator(mode="after")
    def _changeable(self) -> "Sizes":
        if self.changes > self.variables:
            raise ValueError(f"changes: found {self.changes}, expected at most the {self.variables} variables")
        return self


@dataclass(frozen=True)
class Person:
    """Who the user is, beside what changes."""

    name: str
    age: int
    education: str
    hobby: str

    @property
    def summary(self) -> str:
        """One sentence."""
        return f"{self.name}, {self.age}, with {self.education}, whose hobby is {self.hobby}."


@dataclass(frozen=True)
class Session:
    """One evening's talk. `exposes` are the variables that its opener tells, by an event of the user's life."""

    exposes: tuple[str, ...]
    event: str
    opener: str
    time: str  # simulated, "2026-03-30 19:40"


@dataclass(frozen=True)
class Period:
    """What changes at its start, by variable: the old value, None at first, and the new one. Its sessions follow."""

    changes: Mapping[str, tuple[str | None, str]]
    sessions: tuple[Session, ...]

    @property
    def exposed(self) -> frozenset[str]:
        """All variables that its openers tell."""
        return frozenset(name for session in self.sessions for name in session.exposes)


@dataclass(frozen=True)
class Question:
    """A question; which of its options is right follows from the values of the variables that it needs."""

    text: str
    needs: tuple[str, ...]  # distinct
    options: tuple[tuple[str, ...], ...]  # values of the needed variables, each combination once

    def golden(self, state: State) -> tuple[str, ...]:
        """Return the values of the needed variables in a state."""
        return tuple(state[name] for name in self.needs)

    def right(self, state: State) -> int:
        """Return the place of the right option in a state."""
        return self.options.index(self.golden(state))


@dataclass(frozen=True)
class Life:
    """A user's whole life, drawn or written before any assistant meets the user."""

    person: Person
    schema: Schema
    questions: tuple[Question, ...]
    periods: tuple[Period, ...]

    @property
    def states(self) -> tuple[State, ...]:
        """The state after each period's changes, sigma_t."""
        found, state = list[State](), dict[str, str]()
        for period in self.periods:
            state = {**state, **{name: new for name, (_, new) in period.changes.items()}}
            found.append(state)
        return tuple(found)


def faults(life: Life, sizes: Sizes) -> list[str]:
    """Return which rules of acceptance a life breaks, in words; [] for one that is accepted.

    The cap on changes of a variable is none of them: the paper discourages such changes, and does not refuse them.
    """
    return [*_schema_faults(life, sizes), *_change_faults(life, sizes), *_session_faults(life),
            *_question_faults(life, sizes)]


def _schema_faults(life: Life, sizes: Sizes) -> Iterator[str]:
    if len(life.schema) != sizes.variables:
        yield f"schema: found {len(life.schema)} variables, expected {sizes.variables}"
    for name, values in life.schema.items():
        if len(values) != sizes.values or len({*values}) != len(values):
            yield f"schema.{name}: found {values}, expected {sizes.values} different values"
    if len(life.periods) != sizes.periods + 1:
        yield f"periods: found {len(life.periods)}, expected {sizes.periods + 1}"


def _change_faults(life: Life, sizes: Sizes) -> Iterator[str]:
    state: State = {}
    for t, period in enumerate(life.periods):
        for name, (old, new) in period.changes.items():
            if name not in life.schema or new not in life.schema[name] or new == old or state.get(name) != old:
                yield f"periods[{t}].changes.{name}: found {old!r} to {new!r}, expected a legal change of the state"
        state = {**state, **{name: new for name, (_, new) in period.changes.items()}}
        if t == 0 and period.changes.keys() != life.schema.keys():
            yield f"periods[0].changes: found {sorted(period.changes)}, expected every variable"
        if t and not max(1, sizes.changes - 1) <= len(period.changes) <= sizes.changes + 1:
            yield f"periods[{t}].changes: found {len(period.changes)}, expected {sizes.changes} and 1 more or less"


def _session_faults(life: Life) -> Iterator[str]:
    times = [session.time for period in life.periods for session in period.sessions]
    if times != sorted(times) or len({*times}) != len(times):
        yield "sessions: found times out of order, expected each after the one before"
    for t, period in enumerate(life.periods):
        facts: Sequence[str] = [name for session in period.sessions for name in session.exposes]
        if sorted(facts) != sorted(period.changes):
            yield f"periods[{t}].sessions: found {sorted(facts)} exposed, expected {sorted(period.changes)}, each once"


def _question_faults(life: Life, sizes: Sizes) -> Iterator[str]:
    if len(life.questions) != sizes.questions:
        yield f"questions: found {len(life.questions)}, expected {sizes.questions}"
    for place, one in enumerate(life.questions):
        if len({*one.needs}) != len(one.needs) or not {*one.needs} <= life.schema.keys():
            yield f"questions[{place}].needs: found {one.needs}, expected different variables of the schema"
            continue
        occur = {one.golden(state) for state in life.states}
        if len({*one.options}) != len(one.options) or not occur <= {*one.options}:
            yield f"questions[{place}].options: expected every state that occurs, each once"
        possible = sizes.values ** len(one.needs)
        if len(one.options) < min(sizes.options, possible):
            yield f"questions[{place}].options: found {len(one.options)}, expected at least {sizes.options}"
