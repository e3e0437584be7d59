"""Probes: what an assistant is asked after each period, how answers are read, and what they show. AMemGym.

Probes never enter an assistant's history. A whole life is examined by `examined`.
"""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from hone.remembering.feedback import Evolving, Review, Reviewed
from hone.remembering.lives import Life, Question, State
from hone.remembering.phrases import Phrases
from hone.remembering.scores import Known, PeriodResult, cause, upper_bounds
from hone.remembering.talks import Message, Talk, rounds, spoken

Kind = Literal["question", "diagnosis", "upper"]
NOTHING = -1
"""The place of no option."""


@dataclass(frozen=True)
class Probe:
    """One question: one of the user's, what a variable's value is, or one of the user's after the golden values."""

    kind: Kind
    subject: str  # the question's place, or the variable's name
    text: str
    options: int
    right: int  # the place of the right option


class Examination:
    """All probes of one life, and what they have shown. Equal answers give equal results."""

    def __init__(self, life: Life, phrases: Phrases, seed: int, upper: float | None = 1.0) -> None:
        """`upper` is the upper bound of every question; None: it is measured, once for each question and golden state.
        """
        self._life, self._phrases, self._seed, self._upper = life, phrases, seed, upper
        self._states = life.states
        self._exposed = [period.exposed for period in life.periods]
        self.known = list[Known]()
        self.results = list[PeriodResult]()
        self.bounds = dict[tuple[int, tuple[str, ...]], float]()

    @property
    def period(self) -> int:
        """The period that is asked about next."""
        return len(self.results)

    def fork(self) -> "Examination":
        """Return an examination that has come as far, and goes its own way."""
        other = Examination(self._life, self._phrases, self._seed, self._upper)
        other.known, other.results, other.bounds = [*self.known], [*self.results], {**self.bounds}
        return other

    def probes(self) -> list[Probe]:
        """Return the probes of the next period: every question, every variable, and upper bounds not measured yet."""
        state = self._states[self.period]
        asked = enumerate(self._life.questions)
        return [*(self._question(place, one, state) for place, one in asked), *self._diagnoses(state),
                *self._uppers(state)]

    def answered(self, answers: Sequence[str]) -> PeriodResult:
        """Take the answers to the next period's probes, in order, and return what they show.

        An answer that cannot be read counts as an option drawn at random. Of a diagnosis, where the paper is silent, it
        counts as not known; 0 says so. Raises ValueError for another number of answers.
        """
        chosen = [self._chosen(probe, text) for probe, text in zip(self.probes(), answers, strict=True)]
        scores = {(probe.kind, probe.subject): place == probe.right for probe, place, _ in chosen}
        self.known.append({name: scores["diagnosis", name] for name in self._life.schema})
        golden = self._golden()
        self.bounds.update({(place, golden[place]): float(scores["upper", str(place)])
                            for place in range(len(golden)) if ("upper", str(place)) in scores})
        right = tuple(scores["question", str(place)] for place in range(len(golden)))
        errors = sum(error for _, _, error in chosen)
        self.results.append(self._result(right, golden, errors))
        return self.results[-1]

    def _result(self, right: tuple[bool, ...], golden: Sequence[tuple[str, ...]], errors: int) -> PeriodResult:
        questions, t = self._life.questions, self.period
        bounds = [self._upper] * len(questions) if self._upper is not None else upper_bounds(self.bounds, golden)
        causes = tuple(cause(one, question.needs, self.known, self._exposed, t)
                       for one, question in zip(right, questions, strict=True))
        chances = tuple(1 / len(one.options) for one in questions)
        return PeriodResult(t, right, chances, tuple(bounds), self.known[-1], causes, errors)

    def _golden(self) -> list[tuple[str, ...]]:
        return [one.golden(self._states[self.period]) for one in self._life.questions]

    def _question(self, place: int, one: Question, state: State) -> Probe:
        return Probe("question", str(place), self._asked(one), len(one.options), one.right(state))

    def _asked(self, one: Question) -> str:
        options = [dict(zip(one.needs, values, strict=True)) for values in one.options]
        return self._phrases.asked(one.text, options, one.answers)

    def _diagnoses(self, state: State) -> Iterator[Probe]:
        for name, values in self._life.schema.items():
            yield Probe("diagnosis", name, self._phrases.diagnosis(name, values), len(values),
                        values.index(state[name]))

    def _uppers(self, state: State) -> Iterator[Probe]:
        if self._upper is not None:
            return
        for place, one in enumerate(self._life.questions):
            if (place, one.golden(state)) not in self.bounds:
                text = self._phrases.given({name: state[name] for name in one.needs}, self._asked(one))
                yield Probe("upper", str(place), text, len(one.options), one.right(state))

    def _chosen(self, probe: Probe, text: str) -> tuple[Probe, int, bool]:
        number = read_number(text)
        if number is not None and 1 <= number <= probe.options:
            return probe, number - 1, False
        if probe.kind == "diagnosis":
            return probe, NOTHING, number is None
        chance = random.Random(f"{self._seed} {self.period} {probe.kind} {probe.subject}")
        return probe, chance.randrange(probe.options), True


def read_number(text: str) -> int | None:
    """Return the integer that an answer is: a JSON integer, or the only integer of a JSON object; None for others."""
    inner = text[text.find("{"):text.rfind("}") + 1] if "{" in text else text
    try:
        found = json.loads(inner)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, Mapping):
        numbers = [value for value in found.values() if isinstance(value, int) and not isinstance(value, bool)]
        found = numbers[0] if len(numbers) == 1 else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


class Assistant(Protocol):
    """Whoever talks to the user. `answer` changes nothing: `save` is byte-identical before and after."""

    def reset(self) -> None:
        """Forget everything."""

    def act(self, text: str) -> str:
        """Hear the user, and return what is said to it."""

    def add_msgs(self, messages: Sequence[Message]) -> None:
        """Take over a talk that another assistant had."""

    def answer(self, text: str) -> str:
        """Return the answer to a probe."""

    def save(self) -> bytes:
        """Return the whole memory."""

    def load(self, state: bytes) -> None:
        """Go back to a saved memory."""


@dataclass(frozen=True)
class Examined:
    """Result of a life: the results of each period, the conversation, and each period's saved memory."""

    results: tuple[PeriodResult, ...]
    talk: Talk
    snapshots: tuple[bytes, ...]


def examined(
    assistant: Assistant, life: Life, phrases: Phrases, seed: int, first_rounds: int, later_rounds: int,
    upper: float | None = 1.0, recorded: Talk | None = None,
) -> Examined:
    """Let an assistant talk with a user through its life, and ask it after each period.

    `recorded` is a talk that another assistant had: off-policy, each of its sessions is added and nothing is said.
    One that evolves does so after each period but the last. Raises RuntimeError where probing changed the memory.
    """
    exam, talk, snapshots = Examination(life, phrases, seed, upper), list[list[list[Message]]](), list[bytes]()
    assistant.reset()
    for t, period in enumerate(life.periods):
        talk.append([])
        for number, session in enumerate(period.sessions):
            if recorded is not None:
                had = [*recorded[t][number]]
                assistant.add_msgs(had)
            else:
                had = _had(assistant, rounds(session, phrases, later_rounds if t else first_rounds))
            talk[-1].append(had)
        snapshots.append(assistant.save())
        probes = exam.probes()
        answers = [assistant.answer(probe.text) for probe in probes]
        exam.answered(answers)
        if assistant.save() != snapshots[-1]:
            raise RuntimeError(f"period {t}: probing changed the memory, expected an answer to change nothing")
        if isinstance(assistant, Evolving) and t + 1 < len(life.periods):
            assistant.evolve(review(life, t, probes, answers))
    return Examined(tuple(exam.results), talk, tuple(snapshots))


def review(life: Life, period: int, probes: Sequence[Probe], answers: Sequence[str]) -> Review:
    """Return the feedback about a period to an assistant that evolves and has answered its probes."""
    texts = [one.text for one in life.questions]
    asked = [Reviewed(text, probe.text, answer, probe.right + 1) for text, probe, answer
             in zip(texts, probes, answers, strict=False) if probe.kind == "question"]
    return Review(asked, {name: life.states[period][name] for name in sorted(life.periods[period].exposed)})


def _had(assistant: Assistant, texts: Sequence[str]) -> list[Message]:
    return [message for text in texts for message in spoken(text, assistant.act(text))]
