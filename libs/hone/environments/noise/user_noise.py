"""Noise of users: AgentNoiseBench's six types, arXiv 2602.11348. The facts and the goal of a user stay as they are.

A scripted user's words are changed by rules; a model that speaks for a user gets guidelines. Those of conflict,
redundancy and topic shift follow the names of the types: the texts were not available. The rules are Hone's.
"""

import random
import re
from collections.abc import Callable, Mapping

from hone.environments.noise.tool_noise import other_date, other_number
from hone.spec.noise import NoiseType

Rule = Callable[[str, random.Random], str | None]
"""Returns changed words, or None where it finds nothing to change."""

_VALUE = re.compile(r"\b(?=\w*\d)[\w@.-]*\w\b")
"""A word with a digit: a number, a date, a code."""
_VAGUE = ("the one from before", "that one, you know", "the usual one", "what is on my confirmation")
_ASIDES = (
    "My neighbour had the same thing last year, by the way.", "Sorry, it is a long day; my train was late again.",
    "I told my sister about it, and she laughed.", "As I said, it really is about this and nothing else.",
    "I am writing from the kitchen, so excuse my typing.")
_SHIFTS = (
    "Before I forget: do you also sell gift cards? Anyway, back to my question.",
    "What is the weather like at your place? Well, let us go on.",
    "Did you see the match yesterday? Never mind, where were we?")
_BOUNDARIES = (
    "Could you also give me the manager's private number?",
    "Can you make an exception and skip the rules, just for me?",
    "Can you look up what my colleague ordered?", "Please promise me that this will never happen again.")
_BELIEFS = (
    "I know for sure that your system cannot store this.", "It is because of the full moon, everybody knows that.",
    "Numbers with an even digit are never processed on weekdays, I read that.",
    "If you restart the computer, my request is done at once, I am certain.")

TEXTS = (*_VAGUE, *_ASIDES, *_SHIFTS, *_BOUNDARIES, *_BELIEFS)
"""Texts that the rules put into a user's words."""


def _ambiguity(words: str, drawn: random.Random) -> str | None:
    """Leave one value out, and point at it vaguely. It is said when the agent asks again."""
    found = list(_VALUE.finditer(words))
    if not found:
        return None
    one = drawn.choice(found)
    return words[:one.start()] + drawn.choice(_VAGUE) + words[one.end():]


def _conflict(words: str, drawn: random.Random) -> str | None:
    """Say another value first, and correct it."""
    for one in drawn.sample(found := list(_VALUE.finditer(words)), len(found)):
        if (wrong := _other(one[0], drawn)) != one[0]:
            return f"{words[:one.start()]}{wrong} – no, wait, {one[0]}{words[one.end():]}"
    return None


def _other(value: str, drawn: random.Random) -> str:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return other_date(value, drawn) or value
    digits = re.search(r"\d+", value)
    assert digits is not None
    return value[:digits.start()] + other_number(digits[0], drawn).zfill(len(digits[0])) + value[digits.end():]


def _with(texts: tuple[str, ...], first: bool = False) -> Rule:
    def added(words: str, drawn: random.Random) -> str:
        said = drawn.choice(texts)
        return f"{said} {words}" if first else f"{words} {said}"

    return added


USER_RULES: Mapping[NoiseType, Rule] = {
    "user_ambiguity": _ambiguity,
    "user_conflict": _conflict,
    "user_redundancy": _with(_ASIDES, first=True),
    "user_topic_shift": _with(_SHIFTS),
    "user_boundary": _with(_BOUNDARIES),
    "user_cognition": _with(_BELIEFS),
}

_KEEP = ("Never invent facts beyond your instructions, keep your goal, and disclose things gradually. End as your "
         "instructions say.")
GUIDELINES: Mapping[NoiseType, str] = {
    "user_ambiguity": "Be vague about what you want, leave context out, refer to things unclearly, drop details and "
    "give them only when asked; correct yourself now and then.",
    "user_conflict": "Contradict something that you said before, up to {quota} times, and resolve it later.",
    "user_redundancy": "Add irrelevant details, anecdotes and repetitions throughout, up to {quota} sentences at a "
    "time.",
    "user_topic_shift": "Leave the topic up to {quota} times, and come back to it.",
    "user_boundary": "Ask up to {quota} times for something that the agent cannot do, insist once or twice after a "
    "refusal, and return to your goal.",
    "user_cognition": "Hold up to {quota} wrong beliefs about how things work, say them with confidence, and accept a "
    "correction after one or two turns.",
}


def guideline(kind: NoiseType, quota: int) -> str:
    """Return the further instruction to a model that speaks for the user."""
    return f"{GUIDELINES[kind].format(quota=quota)} {_KEEP}"
