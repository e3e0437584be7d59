"""Answers of an author and a checker about a life, and their faults, in words; "": none.

The rules are those of AMemGym, arXiv 2603.01966, step 1. Where its released code asks a model several times for one
thing (events and openers, each answer option) an answer here has all of them: a reconstruction.
"""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import Field

from hone.remembering.lives import MOST_EXPOSED, Schema, Sizes, State
from hone.remembering.written import Name, Text, Value, WrittenPerson
from hone.spec.parameters import Strict
from hone.text.keywords import says


class DraftedQuestion(Strict):
    """A question, with the variables that its answer depends on and their values."""

    text: Text
    needs: dict[Name, list[Value]]

    def wrong(self, sizes: Sizes) -> Iterator[str]:
        if len(self.needs) != sizes.required:
            yield f"needs: expected {sizes.required} variables, found {len(self.needs)}"
        yield from _wrong_values("needs", self.needs, sizes)


class DraftedUser(Strict):
    """Who the user is, and what it asks at any date."""

    person: WrittenPerson
    questions: list[DraftedQuestion]

    def wrong(self, sizes: Sizes) -> Iterator[str]:
        yield from _wrong_texts("questions", [one.text for one in self.questions], sizes.questions)
        for place, one in enumerate(self.questions):
            yield from (f"questions.{place}.{wrong}" for wrong in one.wrong(sizes))


class MergedSchema(Strict):
    """The variables after overlapping ones were merged: which became which, by question, and the questions anew."""

    variables: dict[Name, list[Value]] = Field(alias="schema")
    mapping: list[dict[Name, Name]]
    questions: list[Text]

    def wrong(self, drafted: DraftedUser, sizes: Sizes) -> Iterator[str]:
        if not sizes.changes <= len(self.variables) <= sizes.variables:
            yield f"schema: expected {sizes.changes} to {sizes.variables} variables, found {len(self.variables)}"
        yield from _wrong_values("schema", self.variables, sizes)
        yield from _wrong_texts("questions", self.questions, sizes.questions)
        if len(self.mapping) != len(drafted.questions):
            yield f"mapping: expected one for each of the {len(drafted.questions)} questions"
            return
        for place, (own, one) in enumerate(zip(self.mapping, drafted.questions, strict=True)):
            yield from _wrong_keys(f"mapping.{place}", own, one.needs)
            yield from (f"mapping.{place}: {name} is no variable of the schema" for name in own.values()
                        if name not in self.variables)
        needed = {name for own in self.mapping for name in own.values()}
        yield from (f"schema.{name}: no question needs it" for name in self.variables if name not in needed)

    def needs(self, place: int) -> tuple[str, ...]:
        """Return the needs of a question, each variable once, in the schema's order."""
        return tuple(name for name in self.variables if name in self.mapping[place].values())


class FirstState(Strict):
    """The values of all variables before anything changes."""

    state: dict[str, str]

    def wrong(self, schema: Schema) -> Iterator[str]:
        yield from _wrong_keys("state", self.state, schema)
        yield from (f"state.{name}: {value!r} is none of {', '.join(schema[name])}"
                    for name, value in self.state.items() if name in schema and value not in schema[name])


class DraftedChanges(Strict):
    """The new values at the start of a period."""

    changes: dict[str, str]

    def wrong(self, schema: Schema, state: State, sizes: Sizes) -> Iterator[str]:
        least, most = max(1, sizes.changes - 1), sizes.changes + 1
        if not least <= len(self.changes) <= most:
            yield f"changes: expected {least} to {most} variables, found {len(self.changes)}"
        for name, value in self.changes.items():
            if name not in schema:
                yield f"changes: {name[:40]!r} is no variable of the schema"
            elif value not in schema[name]:
                yield f"changes.{name}: {value[:100]!r} is none of {', '.join(schema[name])}"
            elif value == state[name]:
                yield f"changes.{name}: it is {value!r} already, expected another value"


class DraftedSession(Strict):
    """An event, the variables that it implies, and the opener of the talk about it."""

    exposes: list[Name] = Field(min_length=1, max_length=MOST_EXPOSED)
    event: Text
    opener: Text


class DraftedSessions(Strict):
    """The sessions of a period."""

    sessions: list[DraftedSession]

    def wrong(self, changes: Mapping[str, str]) -> Iterator[str]:
        """An event may not say a value word for word. Whether it says a name is not looked for: it may be any word."""
        exposed = [name for one in self.sessions for name in one.exposes]
        yield from (f"sessions: {name} is exposed by none" for name in changes if name not in exposed)
        yield from (f"sessions: {name} is exposed twice" for name in dict.fromkeys(exposed) if exposed.count(name) > 1)
        yield from (f"sessions: {name} did not change" for name in dict.fromkeys(exposed) if name not in changes)
        for place, one in enumerate(self.sessions):
            yield from (f"sessions.{place}.event: it says {changes[name]!r}, expected words that imply it"
                        for name in one.exposes if name in changes and says(one.event, changes[name]))


class DraftedAnswers(Strict):
    """The texts of a question's options."""

    answers: list[Text]

    def wrong(self, count: int) -> Iterator[str]:
        yield from _wrong_texts("answers", self.answers, count)


class Rewritten(Strict):
    """A text that a checker did not understand, written anew."""

    text: Text


class Recovered(Strict):
    """The values that a checker reads from an opener."""

    values: dict[str, str]

    def wrong(self, candidates: Schema) -> Iterator[str]:
        yield from _wrong_keys("values", self.values, candidates)


class Picked(Strict):
    """The number of the option that a checker takes an answer for, from 1."""

    option: int

    def wrong(self, count: int) -> Iterator[str]:
        if not 1 <= self.option <= count:
            yield f"option: expected 1 to {count}, found {self.option}"


def _wrong_values(at: str, given: Mapping[str, Sequence[str]], sizes: Sizes) -> Iterator[str]:
    yield from (f"{at}.{name}: expected {sizes.values} different values, found {', '.join(values)[:200]}"
                for name, values in given.items()
                if len(values) != sizes.values or len({one.casefold().strip() for one in values}) < len(values))


def _wrong_texts(at: str, texts: Sequence[str], count: int) -> Iterator[str]:
    if len(texts) != count or len({*texts}) < count:
        yield f"{at}: expected {count} different ones, found {len({*texts})}"


def _wrong_keys(at: str, given: Mapping[str, object], wanted: Mapping[str, object]) -> Iterator[str]:
    yield from (f"{at}: {name} is missing" for name in wanted if name not in given)
    yield from (f"{at}: there is no {name[:40]!r}" for name in given if name not in wanted)
