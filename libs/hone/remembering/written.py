"""Lives that somebody wrote: the form that a dataset's row holds, and the life that it stands for. AMemGym.

What a user says stands in it word for word. Openers imply values, so that they need not stand in them.
"""

from typing import Annotated, Any

from pydantic import Field

from hone.remembering.lives import MOST_EXPOSED, Life, Period, Person, Question, Schema, Session, Sizes, State
from hone.spec.parameters import Strict

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""Name of a variable. It says by itself what it is about, such as `living_situation`."""
Value = Annotated[str, Field(max_length=100, pattern=r"\S")]
Text = Annotated[str, Field(max_length=2000, pattern=r"\S")]
_MOST, _MOST_OPTIONS, _MOST_NEEDS = 100, 100, 5


class WrittenPerson(Strict):
    """Who the user is, beside what changes."""

    name: Value
    age: int = Field(ge=1, le=120)
    education: Value
    hobby: Value


class WrittenSession(Strict):
    """One evening's talk."""

    exposes: list[Name] = Field(min_length=1, max_length=MOST_EXPOSED)
    event: Text
    opener: Text
    time: str = Field(pattern=r"^\d{4}-\d\d-\d\d \d\d:\d\d$")


class WrittenPeriod(Strict):
    """Changes at its start, new values by variable, and its evenings."""

    changes: dict[Name, Value] = Field(min_length=1, max_length=_MOST)
    sessions: list[WrittenSession] = Field(min_length=1, max_length=_MOST)


class WrittenQuestion(Strict):
    """A question. Each option is a state of the variables that it needs, and has an answer."""

    text: Text
    needs: list[Name] = Field(min_length=1, max_length=_MOST_NEEDS)
    options: list[list[Value]] = Field(min_length=2, max_length=_MOST_OPTIONS)
    answers: list[Text] = Field(min_length=2, max_length=_MOST_OPTIONS)


class WrittenLife(Strict):
    """A whole life. `sizes` are those that it was written for; who plays it says how many rounds a session has."""

    sizes: Sizes
    person: WrittenPerson
    variables: dict[Name, list[Value]] = Field(alias="schema", min_length=1, max_length=_MOST)
    questions: list[WrittenQuestion] = Field(min_length=1, max_length=_MOST)
    periods: list[WrittenPeriod] = Field(min_length=1, max_length=_MOST)


def life_of(written: WrittenLife) -> Life:
    """Return the life. Whether it keeps the rules, `lives.faults` says."""
    schema: Schema = {name: tuple(values) for name, values in written.variables.items()}
    state: State = {}
    periods = list[Period]()
    for one in written.periods:
        sessions = tuple(Session(tuple(said.exposes), said.event, said.opener, said.time) for said in one.sessions)
        periods.append(Period({name: (state.get(name), new) for name, new in one.changes.items()}, sessions))
        state = {**state, **one.changes}
    questions = tuple(Question(one.text, tuple(one.needs), tuple(map(tuple, one.options)), tuple(one.answers))
                      for one in written.questions)
    return Life(Person(**written.person.model_dump()), schema, questions, tuple(periods))


def life_json(life: Life, sizes: Sizes) -> dict[str, Any]:
    """Return a life in the form of `WrittenLife`, as JSON. Its questions have answers."""
    person, unread = life.person, {"first_rounds", "rounds"}
    return {
        "sizes": sizes.model_dump(exclude=unread),
        "person": {"name": person.name, "age": person.age, "education": person.education, "hobby": person.hobby},
        "schema": {name: [*values] for name, values in life.schema.items()},
        "questions": [{"text": one.text, "needs": [*one.needs], "options": [[*option] for option in one.options],
                       "answers": [*one.answers]} for one in life.questions],
        "periods": [{"changes": {name: new for name, (_, new) in one.changes.items()},
                     "sessions": [{"exposes": [*said.exposes], "event": said.event, "opener": said.opener,
                                   "time": said.time} for said in one.sessions]} for one in life.periods]}
