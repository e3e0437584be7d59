"""The words of a user and of probes: English sentences, or phrases such as `city=Rome` for tiny models. Ours.

Values stand in the openers themselves; those of a life that a model wrote (`written`) imply them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from hone.remembering.vocabulary import sentence

Manner = Literal["english", "plain"]
"""How a user speaks."""


class Phrases(Protocol):
    """How a user speaks, and how it is asked about. All texts follow from their arguments alone."""

    def event(self, facts: Mapping[str, str]) -> str:
        """Return the event in the user's life that implies values."""

    def opener(self, facts: Mapping[str, str]) -> str:
        """Return the first words of a session, which expose values."""

    def dated(self, time: str, text: str) -> str:
        """Return the first message of a session: its time and the opener."""

    def follow_up(self, number: int) -> str:
        """Return a later message of a session; it exposes nothing."""

    def question(self, topic: str, needs: Sequence[str]) -> str:
        """Return a request for advice."""

    def asked(self, text: str, options: Sequence[Mapping[str, str]], answers: Sequence[str] = ()) -> str:
        """Return a question with its numbered options, each of which holds for some values.

        `answers`: the texts of the options, where somebody wrote them; they imply the values.
        """

    def diagnosis(self, name: str, values: Sequence[str]) -> str:
        """Return the question what a variable's value is now."""

    def given(self, values: Mapping[str, str], asked: str) -> str:
        """Return a question after the values that it needs."""

    def lines(self, entries: Mapping[str, str]) -> str:
        """Return entries of a memory."""


class English:
    """Sentences of a person."""

    _follow_ups = ("Thank you. What should I begin with?", "And what would you leave out?", "How long would that take?",
                   "Good. Is there anything that I have to be careful about?", "All right, tell me more about it.")

    def event(self, facts: Mapping[str, str]) -> str:
        return "Since then this is new: " + " ".join(sentence(*one) for one in facts.items())

    def opener(self, facts: Mapping[str, str]) -> str:
        return f"{' '.join(sentence(*one) for one in facts.items())} How do I make the best of it?"

    def dated(self, time: str, text: str) -> str:
        return f"[{time}] {text}\n"

    def follow_up(self, number: int) -> str:
        return f"{self._follow_ups[number % len(self._follow_ups)]}\n"

    def question(self, topic: str, needs: Sequence[str]) -> str:
        return f"Please suggest {topic} that suits me. Think of: {', '.join(needs)}."

    def asked(self, text: str, options: Sequence[Mapping[str, str]], answers: Sequence[str] = ()) -> str:
        texts = answers or [f"Advice for somebody with {_and(one)}." for one in options]
        advice = [f"{number}. {one}" for number, one in enumerate(texts, 1)]
        return "\n".join([text, "Which of these fits my present life?", *advice, _FORM])

    def diagnosis(self, name: str, values: Sequence[str]) -> str:
        numbered = [f"{number}. {value}" for number, value in enumerate(values, 1)]
        return "\n".join([f"What is true of my {name} now?", *numbered, _FORM])

    def given(self, values: Mapping[str, str], asked: str) -> str:
        return f"Of me it is true now: {_and(values)}.\n{asked}"

    def lines(self, entries: Mapping[str, str]) -> str:
        return "\n".join(f"- {key}: {value}" for key, value in entries.items())


class Plain:
    """Pairs of a name and a value, and numbers."""

    def event(self, facts: Mapping[str, str]) -> str:
        return _pairs(facts)

    def opener(self, facts: Mapping[str, str]) -> str:
        return _pairs(facts)

    def dated(self, time: str, text: str) -> str:  # noqa: ARG002  # a clock is many characters for a tiny model
        return f"{text}\n"

    def follow_up(self, number: int) -> str:  # noqa: ARG002
        return "and?\n"

    def question(self, topic: str, needs: Sequence[str]) -> str:  # noqa: ARG002
        return f"{' '.join(needs)}?"

    def asked(self, text: str, options: Sequence[Mapping[str, str]], answers: Sequence[str] = ()) -> str:
        texts = answers or [",".join(one.values()) for one in options]
        return " ".join([text, *(f"{number}:{one}" for number, one in enumerate(texts, 1))]) + "\n"

    def diagnosis(self, name: str, values: Sequence[str]) -> str:
        return " ".join([f"{name}?", *(f"{number}:{value}" for number, value in enumerate(values, 1))]) + "\n"

    def given(self, values: Mapping[str, str], asked: str) -> str:
        return f"{_pairs(values)}\n{asked}"

    def lines(self, entries: Mapping[str, str]) -> str:
        return _pairs(entries)


_FORM = 'Answer with JSON: {"answer": NUMBER}\n'
_PAIR = re.compile(r"(\w+)=(\w+)")
_ASKED = re.compile(r"(\w+(?: \w+)*)\? (1:.*)")
PHRASES: Mapping[Manner, Phrases] = {"english": English(), "plain": Plain()}


def pairs(text: str) -> dict[str, str]:
    """Return the pairs `name=value` of a text, the last one of each name."""
    return dict(_PAIR.findall(text))


def plain_options(text: str) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the names and the options that a plain question or diagnosis asks about; empty for another text."""
    found = _ASKED.search(text)
    if not found:
        return [], []
    return found[1].split(), [tuple(one.partition(":")[2].split(",")) for one in found[2].split()]


def _pairs(facts: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in facts.items())


def _and(facts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())
