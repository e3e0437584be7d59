"""Measures of an agent's texts by themselves: the scores of rules, and the figures of an episode."""

from collections.abc import Mapping, Sequence
from typing import Literal

from hone.environments import turn_rules

Rule = Literal["repetition", "compliance", "identity", "length"]
Tokens = Literal["words", "characters"]
"""Units of n-grams. Characters are for Chinese."""


def tokens(text: str, of: Tokens) -> list[str]:
    """Return the tokens of a text, in lower case."""
    return text.casefold().split() if of == "words" else [*"".join(text.split())]


def scores(
    said: Sequence[str], noticed: bool, forbidden: Sequence[str], band: tuple[int, int], of: Tokens
) -> Mapping[str, float]:
    """Return the score of each rule for the last of an agent's texts; `noticed`: the user did so after it."""
    turns = [tokens(text, of) for text in said]
    return {
        "repetition": turn_rules.repetition(turns)[-1],
        "compliance": turn_rules.compliance(said[-1], forbidden, []),
        "identity": turn_rules.identity_leak(said[-1], noticed),
        "length": turn_rules.length(len(turns[-1]), *band),
    }


def repetition(said: Sequence[str], of: Tokens) -> float:
    """Return the share of 4-grams that an earlier text has, of those of one session."""
    return turn_rules.repetition_rate([[tokens(text, of) for text in said]])
