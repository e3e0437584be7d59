"""Lives that a model writes, and a checker reads: AMemGym's structured data, arXiv 2603.01966, step 1.

Each answer of the author is read against the rules, and asked for again with what was wrong. Then a checker has to find
every state from an opener alone, and the right option from an answer alone. A reconstruction where the released code
was not followed: the author invents the person from a hint, where the paper samples personas; one answer has a
period's events with their openers, another one all texts of a question; an advice or opener is rewritten by itself.
"""

import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TypeVar

from hone.environments.contract import Row
from hone.environments.synthesis.author import Json, NoAnswer, accepted, answered
from hone.environments.synthesis.model_author import AskedModel, Asking
from hone.environments.synthesis.trail import Trail
from hone.environments.written_lives import prompts
from hone.environments.written_lives.forms import (
    DraftedAnswers,
    DraftedChanges,
    DraftedSession,
    DraftedSessions,
    DraftedUser,
    FirstState,
    MergedSchema,
    Picked,
    Recovered,
    Rewritten,
)
from hone.remembering.generator import evenings, options
from hone.remembering.lives import Life, Period, Person, Question, Schema, Session, Sizes, State, faults
from hone.remembering.written import life_json
from hone.spec.parameters import Strict

CORRECTIONS, REFINEMENTS, TRIES = 4, 20, 2
"""Corrections of one answer and refinements of one text, after which the user is discarded, and users that are begun at
most for each that is wanted. The last number is ours."""
MOST_BYTES = 400_000
_SHOWN = 20
Form = TypeVar("Form", bound=Strict)


@dataclass
class LifeTrail:
    """Cost of the writing of a life."""

    number: int
    corrections: int = 0  # answers that broke a form or a rule
    refinements: int = 0  # openers and answers that the checker did not understand


@dataclass
class AuthoredLives:
    """Lives in the making. `author` writes them, `checker` reads them; the two may be the same model."""

    author: AskedModel
    checker: AskedModel
    sizes: Sizes
    seed: int = 0
    trail: Trail = field(default_factory=Trail)
    trails: list[LifeTrail] = field(default_factory=list)

    def made(self, hint: str, wanted: int) -> list[Row]:
        """Return rows for `changing_user`. Raises NoWorld, with what was tried, where no life was accepted."""
        kept = accepted(self.trail, "lives", wanted, TRIES * wanted, partial(self._life, hint), "no life was accepted")
        return [{"prompt": one.periods[0].sessions[0].opener, "user_seed": place,
                 "life": life_json(one, self._sizes_of(one.schema))} for place, one in enumerate(kept)]

    def as_json(self) -> Mapping[str, object]:
        """Return the cost of the lives, for a report."""
        return {"lives": [asdict(one) for one in list(self.trails)]}

    def _life(self, hint: str, number: int, kept: Sequence[Life]) -> Life:
        """Return a life that is accepted. Raises NoAnswer."""
        self.trails.append(LifeTrail(number))
        names = [one.person.name for one in kept][-_SHOWN:]
        found = _Writing(self, number, self.trails[-1]).life(hint, names)
        sizes = self._sizes_of(found.schema)
        if wrong := faults(found, sizes):
            raise NoAnswer([str(one) for one in wrong])
        if (length := len(json.dumps(life_json(found, sizes)))) > MOST_BYTES:
            raise NoAnswer([f"the life has {length} bytes, expected at most {MOST_BYTES}"])
        return found

    def _sizes_of(self, schema: Schema) -> Sizes:
        return self.sizes.model_copy(update={"variables": len(schema)})


class _Writing:
    """The writing of one life."""

    def __init__(self, lives: AuthoredLives, number: int, trail: LifeTrail) -> None:
        self._lives, self._sizes, self._number, self._noted = lives, lives.sizes, number, trail
        self._asking = Asking(prompts.SYSTEM, lives.seed)
        self._chance = random.Random(f"written life {lives.seed} {number}")

    def life(self, hint: str, names: Sequence[str]) -> Life:
        """Return it. Raises NoAnswer."""
        drafted, sizes = self._user(hint, names), self._sizes
        merged = self._written("schema", MergedSchema, prompts.merging(
            ((one.text, _schema(one.needs)) for one in drafted.questions), sizes),
            lambda one: one.wrong(drafted, sizes))
        person, schema = Person(**drafted.person.model_dump()), _schema(merged.variables)
        silent = Life(person, schema, (), tuple(Period(changes, ()) for changes in self._changes(person, schema)))
        periods = tuple(self._period(silent, t) for t in range(len(silent.periods)))
        questions = tuple(self._question(silent, place, text, merged.needs(place))
                          for place, text in enumerate(merged.questions))
        return replace(silent, periods=periods, questions=questions)

    def _user(self, hint: str, names: Sequence[str]) -> DraftedUser:
        question = prompts.user(hint, self._number, self._sizes, names)
        return self._written("user", DraftedUser, question, lambda one: one.wrong(self._sizes))

    def _changes(self, person: Person, schema: Schema) -> list[Mapping[str, tuple[str | None, str]]]:
        """Return the changes of all periods, the first of which sets every variable."""
        sizes, counts = self._sizes, dict.fromkeys(schema, 0)
        state: State = self._written("first state", FirstState, prompts.start(person, schema),
                                     lambda one: one.wrong(schema)).state
        found: list[Mapping[str, tuple[str | None, str]]] = [{name: (None, state[name]) for name in schema}]
        for t in range(1, sizes.periods + 1):
            worn = [name for name, count in counts.items() if count >= sizes.most_changes]
            new = self._written(f"changes of period {t}", DraftedChanges,
                                prompts.changes(person, schema, state, worn, sizes),
                                partial(_wrong_changes, schema, state, sizes)).changes
            found.append({name: (state[name], value) for name, value in new.items()})
            state = {**state, **new}
            counts = {name: count + (name in new) for name, count in counts.items()}
        return found

    def _period(self, silent: Life, t: int) -> Period:
        """Return a period with its evenings, whose openers the checker has understood."""
        changes = silent.periods[t].changes
        facts = {name: new for name, (_, new) in changes.items()}
        drafted = self._written(
            f"sessions of period {t}", DraftedSessions, prompts.sessions(
                silent.person, silent.schema, facts, first=t == 0), lambda one: one.wrong(facts)).sessions
        times = evenings(t, len(drafted), self._sizes.months, self._chance)
        return Period(changes, tuple(
            Session(tuple(one.exposes), one.event, self._opener(silent, t, place, one, facts), time)
            for place, (one, time) in enumerate(zip(drafted, times, strict=True))))

    def _opener(self, silent: Life, t: int, place: int, one: DraftedSession, facts: Mapping[str, str]) -> str:
        exposed = {name: facts[name] for name in one.exposes}
        candidates = {name: silent.schema[name] for name in one.exposes}
        return self._understood(
            f"opener {place} of period {t}", one.opener, prompts.opener(silent.person, one.event, exposed, candidates),
            partial(self._not_recovered, exposed, candidates))

    def _not_recovered(self, exposed: State, candidates: Schema, about: str, text: str) -> str:
        """Return which values a checker did not find in an opener; "": it found all."""
        found = self._read(about, Recovered, prompts.recovery(text, candidates), lambda one: one.wrong(candidates))
        return "; ".join(f"{name}: {found.values[name][:100]!r}, expected {value!r}" for name, value in exposed.items()
                         if found.values[name] != value)

    def _question(self, silent: Life, number: int, text: str, needs: tuple[str, ...]) -> Question:
        """Return a question with an answer for each option, each of which the checker took for the right one."""
        one = Question(text, needs, options(silent, needs, self._sizes, self._chance))
        states: Sequence[State] = [dict(zip(needs, values, strict=True)) for values in one.options]
        about = f"answers of question {number}"
        drafted = self._written(about, DraftedAnswers, prompts.answers(silent.person, text, states),
                                lambda found: found.wrong(len(states))).answers
        return replace(one, answers=tuple(self._understood(
            f"answer {place} of question {number}", answer, prompts.answer(text, states, place),
            partial(self._not_picked, text, states, place)) for place, answer in enumerate(drafted)))

    def _not_picked(self, question: str, states: Sequence[State], place: int, about: str, text: str) -> str:
        """Return for which other state a checker took an answer; "": it took it for the right one."""
        found = self._read(about, Picked, prompts.picking(question, text, states), lambda one: one.wrong(len(states)))
        return "" if found.option == place + 1 else (
            f"it is for state {found.option}, {dict(states[found.option - 1])}, expected {dict(states[place])}")

    def _understood(self, about: str, text: str, task: str, wrong: Callable[[str, str], str]) -> str:
        """Return a text that the checker understands, rewritten until it does. Raises NoAnswer."""
        complaints = list[str]()
        while complaint := wrong(about, text):
            complaints.append(f"{about}: {complaint}")
            self._lives.trail.refused(self._named(about), complaint)
            if len(complaints) > REFINEMENTS:
                raise NoAnswer(complaints)
            self._noted.refinements += 1
            text = self._written(f"{about} anew", Rewritten, prompts.rewritten(task, text, complaint)).text
        return text

    def _written(
        self, about: str, form: type[Form], question: str, wrong: Callable[[Form], Iterable[str]] = lambda _: (),
    ) -> Form:
        """Return the author's answer. Raises NoAnswer."""
        return self._answered(self._lives.author, about, form, question, wrong)

    def _read(self, about: str, form: type[Form], question: str, wrong: Callable[[Form], Iterable[str]]) -> Form:
        """Return the checker's answer. Raises NoAnswer."""
        return self._answered(self._lives.checker, f"check of {about}", form, question, wrong)

    def _answered(
        self, model: AskedModel, about: str, form: type[Form], question: str, wrong: Callable[[Form], Iterable[str]],
    ) -> Form:
        def ask(complaint: str) -> Json:
            self._noted.corrections += bool(complaint)
            return self._asking(model, self._named(about), question, complaint)

        try:
            return answered(self._lives.trail, self._named(about), form, ask, lambda one: "; ".join(wrong(one)),
                            answers=CORRECTIONS + 1)
        except NoAnswer as error:
            raise NoAnswer([f"{about}: {one}" for one in error.complaints]) from error

    def _named(self, about: str) -> str:
        return f"life {self._number}: {about}"


def _schema(variables: Mapping[str, Sequence[str]]) -> Schema:
    return {name: tuple(values) for name, values in variables.items()}


def _wrong_changes(schema: Schema, state: State, sizes: Sizes, one: DraftedChanges) -> Iterable[str]:
    return one.wrong(schema, state, sizes)
