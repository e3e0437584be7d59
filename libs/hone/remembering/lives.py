"""A life: a user, the variables of its state, how they change over periods, and what is asked about it. AMemGym.

The words are those of arXiv 2603.01966: a schema Sigma, states sigma_t, changes U_t, events, openers, options A_i.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field, model_validator

from hone.remembering.vocabulary import MOST_QUESTIONS, MOST_VALUES, MOST_VARIABLES
from hone.spec.parameters import Strict
from hone.spec.problems import Problem

State = Mapping[str, str]
Schema = Mapping[str, tuple[str, ...]]
MOST_EXPOSED = 3
"""Variables that one opener tells."""


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
    """Changes at its start, by variable: the old value, None at first, and the new value. Its sessions follow."""

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
    answers: tuple[str, ...] = ()  # the text of each option, where somebody wrote them

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


def faults(life: Life, sizes: Sizes) -> list[Problem]:
    """Return which rules of acceptance a life breaks, by field; [] for one that is accepted.

    The cap on changes of a variable is none of them: the paper discourages such changes, and does not refuse them.
    """
    return [*_schema_faults(life, sizes), *_change_faults(life, sizes), *_session_faults(life),
            *_question_faults(life, sizes)]


def _schema_faults(life: Life, sizes: Sizes) -> Iterator[Problem]:
    if len(life.schema) != sizes.variables:
        yield Problem("schema", f"{len(life.schema)} variables", f"{sizes.variables}")
    for name, values in life.schema.items():
        if len(values) != sizes.values or len({*values}) != len(values):
            yield Problem(f"schema.{name}", f"{values}", f"{sizes.values} different values")
    if len(life.periods) != sizes.periods + 1:
        yield Problem("periods", f"{len(life.periods)}", f"{sizes.periods + 1}")


def _change_faults(life: Life, sizes: Sizes) -> Iterator[Problem]:
    state: State = {}
    for t, period in enumerate(life.periods):
        for name, (old, new) in period.changes.items():
            if name not in life.schema or new not in life.schema[name] or new == old or state.get(name) != old:
                yield Problem(f"periods.{t}.changes.{name}", f"{old!r} to {new!r}", "a legal change of the state")
        state = {**state, **{name: new for name, (_, new) in period.changes.items()}}
        if t == 0 and period.changes.keys() != life.schema.keys():
            yield Problem("periods.0.changes", f"{sorted(period.changes)}", "every variable")
        if t and not max(1, sizes.changes - 1) <= len(period.changes) <= sizes.changes + 1:
            yield Problem(f"periods.{t}.changes", f"{len(period.changes)}", f"{sizes.changes} and 1 more or less")


def _session_faults(life: Life) -> Iterator[Problem]:
    times = [session.time for period in life.periods for session in period.sessions]
    if times != sorted(times) or len({*times}) != len(times):
        yield Problem("periods", "times of sessions out of order", "each after the one before")
    for t, period in enumerate(life.periods):
        facts: Sequence[str] = [name for session in period.sessions for name in session.exposes]
        if sorted(facts) != sorted(period.changes):
            yield Problem(f"periods.{t}.sessions", f"{sorted(facts)} exposed", f"{sorted(period.changes)}, each once")


def _question_faults(life: Life, sizes: Sizes) -> Iterator[Problem]:
    if len(life.questions) != sizes.questions:
        yield Problem("questions", f"{len(life.questions)}", f"{sizes.questions}")
    for place, one in enumerate(life.questions):
        if not one.needs or len({*one.needs}) != len(one.needs) or not {*one.needs} <= life.schema.keys():
            yield Problem(f"questions.{place}.needs", f"{one.needs}", "different variables of the schema")
        else:
            yield from _option_faults(f"questions.{place}", one, life, sizes)


def _option_faults(at: str, one: Question, life: Life, sizes: Sizes) -> Iterator[Problem]:
    options, occur = {*one.options}, {one.golden(state) for state in life.states if {*one.needs} <= state.keys()}
    if len(options) != len(one.options) or not occur <= options:
        yield Problem(f"{at}.options", f"{sorted(one.options)}", "every state that occurs, each once")
    legal = [life.schema[name] for name in one.needs]
    if strange := [option for option in one.options if len(option) != len(legal) or any(
            value not in own for value, own in zip(option, legal, strict=True))]:
        yield Problem(f"{at}.options", f"{strange[0]}", f"legal values of {', '.join(one.needs)}")
    if len(one.options) < min(sizes.options, sizes.values ** len(one.needs)):
        yield Problem(f"{at}.options", f"{len(one.options)}", f"at least {sizes.options}")
    if one.answers and len(one.answers) != len(one.options):
        yield Problem(f"{at}.answers", f"{len(one.answers)}", f"one for each of the {len(one.options)} options")
