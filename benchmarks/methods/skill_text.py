"""Texts of self-written skills, SIRI, arXiv 2606.02355 (reconstruction): filters skills, and finds repetitions.

The patterns are Hone's: the paper names the filters without their patterns.
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
"""Pattern of numbered objects: `mug 3`, `shelf_12`, `#4`; not `at least 2` or `step 1`."""

PRODUCT_CODES = r"\b(?=[a-z]*\d[a-z0-9]*[a-z])(?=(?:[a-z]*\d){2})[a-z0-9]{8,}\b"
"""Pattern of product codes: one word of at least eight letters and digits."""

MENTIONS = (
    r"\b(?:the|this|that|my|given|provided|retrieved) skill\b",
    r"\bskill (?:says|said|tells|suggests|advises|states|recommends)\b",
    r"\b(?:according to|following|as per) skill\b",
)
"""Patterns of a text that refers to a skill."""

_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?]+|\n|$)")
_WORD = re.compile(r"\w+")


class SkillTextParams(Params):
    """Limits of a skill's text, and of texts that repeat it. Patterns ignore case."""

    z_max: int = Field(160, ge=1, description="Most tokens of a skill.")
    instance_ids: tuple[str, ...] = Field(
        (OBJECT_NUMBERS, PRODUCT_CODES, URLS), description="Patterns of one instance, which no skill may contain.")
    mentions: tuple[str, ...] = Field(MENTIONS, description="Patterns of a sentence that refers to a skill.")
    overlap: int = Field(
        8, ge=1, description="A sentence that shares this many consecutive words with the skill repeats it.")


def refusal(text: str, tokens: int, params: SkillTextParams) -> str:
    """Return the reason to reject a candidate without a test; "" for none."""
    if not text.strip():
        return "empty"
    if tokens > params.z_max:
        return f"{tokens} tokens, at most {params.z_max}"
    held = next((match for pattern in params.instance_ids if (match := re.search(pattern, text, re.IGNORECASE))), None)
    return f"names an instance: {held.group()!r}" if held else ""


def referring(text: str, skill: str, params: SkillTextParams) -> list[tuple[int, int]]:
    """Return the characters [start, end) of each sentence that refers to a skill, or repeats `overlap` words of it.

    A sentence repeats a shorter skill if it contains all its words in a row.
    """
    said = _WORD.findall(skill.lower())
    length = min(params.overlap, len(said))
    runs = [_spaced(said[at:at + length]) for at in range(len(said) - length + 1)] if said else []
    return [match.span() for match in _SENTENCE.finditer(text) if _refers(match.group(), runs, params)]


def unmarked(offsets: Ints, spans: Sequence[tuple[int, int]]) -> Flags:
    """Return whether each token is outside all spans, [M]; `offsets` [M, 2] are its characters [start, end).

    A token that is partly in a span is inside.
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
