"""Texts of self-written skills, SIRI, arXiv 2606.02355 (reconstruction): which may be tested, what repeats them.

Which words give away an instance or a skill is ours: the paper names the filters without their patterns.
"""

import re
from collections.abc import Sequence

import numpy as np
from pydantic import Field

from hone.algorithms.inputs import Flags, Ints
from hone.algorithms.method import Params

URLS = r"https?://|\bwww\."

OBJECT_NUMBERS = (
    r"\b(?!(?:step|than|to|of|or|and|in|at|least|most|first|last|next|about|every|only|exactly|by|for)\b)"
    r"[a-z]{2,} \d+\b"
    r"|[a-z]_\d+\b|#\d+\b")
"""`mug 3`, `shelf_12`, `#4`; not `at least 2` nor `step 1`."""

PRODUCT_CODES = r"\b(?=[a-z]*\d[a-z0-9]*[a-z])(?=(?:[a-z]*\d){2})[a-z0-9]{8,}\b"
"""Eight letters and digits or more in one word, as shops name their goods."""

MENTIONS = (
    r"\b(?:the|this|that|my|given|provided|retrieved) skill\b",
    r"\bskill (?:says|said|tells|suggests|advises|states|recommends)\b",
    r"\b(?:according to|following|as per) skill\b",
)
"""Patterns of a text that refers to a skill."""

_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?]+|\n|$)")
_WORD = re.compile(r"\w+")


class SkillTextParams(Params):
    """Bounds of a skill's text and of what repeats it. Patterns are read without regard to case."""

    z_max: int = Field(160, ge=1, description="Most tokens of a skill.")
    instance_ids: tuple[str, ...] = Field(
        (OBJECT_NUMBERS, PRODUCT_CODES, URLS), description="Patterns that no skill may hold: it is of one instance.")
    mentions: tuple[str, ...] = Field(MENTIONS, description="Patterns of a sentence that refers to a skill.")
    overlap: int = Field(8, ge=1, description="Words in a row that make a sentence a copy of the skill.")


def refusal(text: str, tokens: int, params: SkillTextParams) -> str:
    """Return why a candidate is not worth a test, or "" where it is."""
    if not text.strip():
        return "empty"
    if tokens > params.z_max:
        return f"{tokens} tokens, at most {params.z_max}"
    held = next((match for pattern in params.instance_ids if (match := re.search(pattern, text, re.IGNORECASE))), None)
    return f"names an instance: {held.group()!r}" if held else ""


def referring(text: str, skill: str, params: SkillTextParams) -> list[tuple[int, int]]:
    """Return the characters [start, end) of each sentence that refers to a skill, or repeats `overlap` words of it.

    A shorter skill is repeated where a sentence holds all of its words in a row.
    """
    said = _WORD.findall(skill.lower())
    length = min(params.overlap, len(said))
    runs = [_spaced(said[at:at + length]) for at in range(len(said) - length + 1)] if said else []
    return [match.span() for match in _SENTENCE.finditer(text) if _refers(match.group(), runs, params)]


def unmarked(offsets: Ints, spans: Sequence[tuple[int, int]]) -> Flags:
    """Return which tokens lie outside of all spans, [M]; `offsets` [M, 2] are the characters [start, end) of each.

    A token that a span cuts is inside.
    """
    outside = np.ones(len(offsets), np.bool_)
    for start, end in spans:
        outside &= (offsets[:, 1] <= start) | (offsets[:, 0] >= end)
    return outside


def _refers(sentence: str, runs: Sequence[str], params: SkillTextParams) -> bool:
    if any(re.search(pattern, sentence, re.IGNORECASE) for pattern in params.mentions):
        return True
    words = _spaced(_WORD.findall(sentence.lower()))
    return any(run in words for run in runs)


def _spaced(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "
