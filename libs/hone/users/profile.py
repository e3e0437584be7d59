"""Profiles of simulated users: who they are, what they want and know, and how they take what an agent says."""

import re
from collections.abc import Sequence
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, field_validator

from hone.spec.findings import first
from hone.spec.parameters import Strict
from hone.text.keywords import WORD, folded

ADMISSIONS = (
    r"\bi(?:'m| am) (?:just |only )?an? (?:\w+ )?(?:ai|bot|chatbot|robot|machine|language model|virtual assistant)\b",
    r"\bas an? (?:ai|bot|language model)\b",
)
"""Patterns of texts that admit to be a machine, in upper or lower case."""

Reveal = Literal["opening", "asked", "after", "never"]
"""When a fact is said: in the first words; when it is asked; when asked, once other facts were said; never."""
Kind = Literal["goal", "mood", "turns", "hang_up", "refuses", "liked", "nothing", "noticed"]
"""Kinds of lines: the last words by the reason of the end, and what is said beside facts, or without any."""


class WrongProfile(ValueError):
    """A profile is wrong. Holds the path of the field, the value found and the expectation."""

    def __init__(self, field: str, found: object, expected: str) -> None:
        super().__init__(f"{field}: found {found!r}, expected {expected}")
        self.field, self.found, self.expected = field, found, expected


def _readable(phrases: str) -> str:
    if not all(_PHRASE.fullmatch(one.strip()) for one in phrases.split("|")):
        raise ValueError("phrases separated by |, each with a star at the ends of words alone")
    return phrases


_PHRASE = re.compile(r"[^*\s]+\*?(\s+[^*\s]+\*?)*")
Phrases = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_readable)]
"""Phrases separated by |, of which one is looked for as whole words, in upper or lower case. A star at a word's end
stands for any ending. They are no regular expressions, whose search might never end."""
Form = Annotated[str, Field(min_length=2, max_length=64)]
"""The form of a value: 9 stands for a digit, A for a letter, any other character for itself."""
Named = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]


def _seen(text: str) -> str:
    if not text.strip():
        raise ValueError("text with a character that is seen")
    return text


Text = Annotated[str, Field(min_length=1, max_length=4000), AfterValidator(_seen)]
MOST_FACTS, _MOST_PHRASES = 1000, 20
"""Each text of the agent is searched for all that asks for a fact, and one text must not hold up other users."""


class UserParams(Strict):
    """Base of the parts of a profile."""

    model_config = ConfigDict(strict=True)


class Fact(UserParams):
    """Something that the user knows, and the rule by which it is said."""

    name: Named
    value: Text
    reveal: Reveal = "asked"
    after: list[Named] = Field([], description="With `reveal: after`: facts that have to be said before this one.")
    asked: list[Phrases] = Field([], max_length=_MOST_PHRASES, description="Phrases that ask for it; []: its name.")
    says: Text = Field("{value}", description="How a scripted user says it.")
    form: Form | None = Field(None, description="Form of its value: 9 a digit, A a letter. Another text of "
                              "this form contradicts it.")
    others: list[Text] = Field([], max_length=_MOST_PHRASES, description="Values that contradict it.")

    @property
    def sentence(self) -> str:
        """Words of a scripted user."""
        return self.says.replace("{value}", self.value)

    def is_asked(self, text: str) -> bool:
        """Return whether a text asks for it."""
        return any(found(phrases, text) for phrases in self.asked or [f"{self.name}|{self.name.replace('_', ' ')}"])

    def of_form(self, text: str) -> list[str]:
        """Return the parts of a text that have the form of its value."""
        return [] if self.form is None else [match[0] for match in _form(self.form).finditer(text)]


class Goal(UserParams):
    """Goal of the user. It is reached once all phrases were heard, and not before the mood is good enough."""

    text: Text
    hears: list[Phrases] = Field([], max_length=MOST_FACTS, description="What the agent has to say, in one text or "
                                 "several: one phrase of each entry.")
    mood: float | None = Field(
        None, description="Only while the mood is at least this are the phrases heard; without phrases the mood "
        "decides. It is hidden from the agent, as a customer's threshold is.")


class MoodRule(UserParams):
    """Effect of certain words of the agent on the mood."""

    hears: Phrases
    mood: float
    once: bool = Field(False, description="Only the first time.")


class Mood(UserParams):
    """A number that rises and falls by what the agent says."""

    start: float = 0.0
    least: float | None = Field(None, description="The user leaves when the mood is not above this.")
    rules: list[MoodRule] = Field([], max_length=MOST_FACTS)
    again: float = Field(0.0, description="Change when the agent asks again for what was said.")
    repeats: float = Field(0.0, description="Change when the agent says what it said before.")
    nothing: float = Field(0.0, description="Change when the agent asks for nothing that the user knows, and no phrase "
                           "of the mood's rules and of the goal is in what it says.")


class Profile(UserParams):
    """A simulated user."""

    id: Annotated[str, Field(min_length=1, max_length=200)] = "user"
    persona: Annotated[str, Field(max_length=4000)] = Field("", description="Who the user is, for a model that speaks.")
    goal: Goal
    knowledge: list[Fact] = Field([], max_length=MOST_FACTS)
    mood: Mood = Mood()
    turns: int = Field(20, ge=1, le=1000, description="Texts of the agent after which the user leaves.")
    hang_up: float = Field(0.0, ge=0, le=1, description="Chance at each text of the agent that the user leaves.")
    notices: float = Field(0.0, ge=0, le=1, description="Chance that the user notices a machine when the agent says "
                           "what it said before. Who admits to be one is always noticed.")
    opening: Annotated[str, Field(max_length=4000)] = Field(
        "", description="The first words; facts of the opening are said behind them. Empty: the goal.")
    lines: dict[Kind, Annotated[list[Text], Field(min_length=1)]] = Field(
        {}, description="What a scripted user says, by kind, instead of English.")

    @field_validator("knowledge")
    @classmethod
    def _can_be_said(cls, knowledge: list[Fact]) -> list[Fact]:
        """Refuse facts that never come to be said by their own rules."""
        names = {fact.name for fact in knowledge}
        if len(names) != len(knowledge):
            raise ValueError("names of facts that differ")
        for fact in knowledge:
            if bool(fact.after) != (fact.reveal == "after"):
                raise ValueError(f"names in `after` with `reveal: after` alone, at fact {fact.name}")
            if unknown := set(fact.after) - names | {fact.name} & set(fact.after):
                raise ValueError(f"names of other facts in `after` of {fact.name}, not {min(unknown)}")
        _expect_an_order(knowledge)
        return knowledge

    def fact(self, name: str) -> Fact:
        """Return the fact of a name."""
        return next(fact for fact in self.knowledge if fact.name == name)


def _expect_an_order(knowledge: Sequence[Fact]) -> None:
    """Raise ValueError where facts wait for each other, or for one that is never said."""
    try:
        order = [*TopologicalSorter({fact.name: fact.after for fact in knowledge}).static_order()]
    except CycleError as circle:
        raise ValueError(f"facts that do not wait for each other, as {', '.join(circle.args[1])} do") from circle
    facts = {fact.name: fact for fact in knowledge}
    unsaid = {name for name in order if facts[name].reveal == "never"}
    for name in order:
        if waits := unsaid & {*facts[name].after}:
            raise ValueError(f"facts that are said some time in `after` of {name}, not {min(waits)}")


def found(phrases: str, text: str) -> bool:
    """Return whether one of the phrases is in a text."""
    return _searched(phrases).search(folded(text)) is not None


@lru_cache(maxsize=4096)
def _searched(phrases: str) -> re.Pattern[str]:
    either = "|".join(re.escape(folded(one)).replace(r"\*", f"{WORD}*") for one in phrases.split("|"))
    return re.compile(f"(?<!{WORD})(?:{either})(?!{WORD})")


@lru_cache(maxsize=4096)
def _form(form: str) -> re.Pattern[str]:
    classes = {"9": r"\d", "A": "[A-Za-z]"}
    return re.compile(
        "".join([r"(?<!\w)", *(classes.get(character, re.escape(character)) for character in form), r"(?!\w)"]),
        re.ASCII | re.IGNORECASE)


def admits(text: str) -> bool:
    """Return whether a text admits to be a machine's."""
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in ADMISSIONS)


def profile(value: Any) -> Profile:
    """Return the profile in a JSON value. Raises WrongProfile with the first wrong field."""
    try:
        return Profile.model_validate(value)
    except ValidationError as error:
        wrong = first(error, model=Profile)
        raise WrongProfile(wrong.field or "profile", wrong.found, wrong.expected) from error
