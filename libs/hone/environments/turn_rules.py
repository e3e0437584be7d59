"""Rules that grade the turns of a dialogue, and their metrics: DuCA, arXiv 2603.01481. The formulas are Hone's.

A turn is the agent's text: a list of tokens, or a string whose characters are the tokens (Chinese).
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

from hone.users.profile import ADMISSIONS

Turn: TypeAlias = Sequence[Hashable]

_HARMLESS = 0.3


def repetition(turns: Sequence[Turn], n: int = 4) -> list[float]:
    """Score each turn -max(0, (J - 0.3) / 0.7), J the largest Jaccard index of n-gram sets with an earlier turn.

    The first turn and a turn without an n-gram score 0.
    """
    grams = [_grams(turn, n) for turn in turns]
    nearest = [max((_jaccard(each, old) for old in grams[:t]), default=0.0) for t, each in enumerate(grams)]
    return [min(0.0, (_HARMLESS - index) / (1 - _HARMLESS)) for index in nearest]


def identity_leak(text: str, flagged: bool, patterns: Sequence[str] = ADMISSIONS) -> float:
    """Score -1 if the turn admits to be a machine, or if the user noticed it (`flagged`), else 0."""
    return -1.0 if flagged or any(_found(pattern, text) for pattern in patterns) else 0.0


def compliance(text: str, forbidden: Sequence[str], mandatory: Sequence[str], judged: int = 0) -> float:
    """Score -1 for each forbidden pattern found, each mandatory pattern missing, and each breach that a judge found."""
    claims = sum(_found(pattern, text) for pattern in forbidden)
    missing = sum(not _found(pattern, text) for pattern in mandatory)
    return float(-(claims + missing + judged))


def length(tokens: int, low: int = 1, high: int = 256) -> float:
    """Score 0 for low ... high tokens, else -1."""
    return 0.0 if low <= tokens <= high else -1.0


def turn_rewards(scores: Mapping[str, Sequence[float]], weights: Mapping[str, float]) -> list[float]:
    """Return r_t = sum_j c_j r_jt. Raises KeyError for a rule without weight, ValueError for unequal lengths."""
    rows = zip(*([weights[rule] * score for score in each] for rule, each in scores.items()), strict=True)
    return [sum(row) for row in rows]


def conversion_rate(converted: Sequence[bool]) -> float:
    """Return CVR: the share of sessions that ended in a conversion; 0 without sessions."""
    return sum(converted) / max(1, len(converted))


def repetition_rate(sessions: Sequence[Sequence[Turn]], n: int = 4) -> float:
    """Return ISR: the share of n-grams that an earlier turn has, mean over sessions; 0 without sessions."""
    return sum(_repeated_share(turns, n) for turns in sessions) / max(1, len(sessions))


def identity_rate(flags: Sequence[Sequence[bool]]) -> float:
    """Return IDR: the share of sessions with an identity flag at any turn; 0 without sessions."""
    return sum(map(any, flags)) / max(1, len(flags))


def _repeated_share(turns: Sequence[Turn], n: int) -> float:
    said: set[tuple[Hashable, ...]] = set()
    repeated = total = 0
    for t, turn in enumerate(turns):
        grams = _ngrams(turn, n)
        if t:
            repeated, total = repeated + sum(gram in said for gram in grams), total + len(grams)
        said.update(grams)
    return repeated / max(1, total)


def _ngrams(turn: Turn, n: int) -> list[tuple[Hashable, ...]]:
    return [tuple(turn[start:start + n]) for start in range(len(turn) - n + 1)]


def _grams(turn: Turn, n: int) -> frozenset[tuple[Hashable, ...]]:
    return frozenset(_ngrams(turn, n))


def _jaccard(one: frozenset[tuple[Hashable, ...]], other: frozenset[tuple[Hashable, ...]]) -> float:
    return len(one & other) / max(1, len(one | other))


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None
