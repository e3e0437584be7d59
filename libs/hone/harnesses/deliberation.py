"""Input of a deliberation from parallel attempts: HeavySkill, arXiv 2605.02396.

Pruning and ties are a reconstruction: the paper does not define them.
"""

import random
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Literal, TypeAlias, TypeVar

Token = TypeVar("Token")
Answer: TypeAlias = Hashable | None
"""None: no answer could be extracted."""
Strategy: TypeAlias = Literal["random", "max_answer_num", "max_diversity", "max_length"]


@dataclass(frozen=True)
class Attempt:
    """One attempt, as the selection reads it."""

    id: int
    answer: Answer
    tokens: int


def select(attempts: Sequence[Attempt], k: int, strategy: Strategy = "max_answer_num", seed: int = 0) -> list[Attempt]:
    """Return the k attempts that a deliberation reads; all of them, in order, where there are at most k.

    max_answer_num: larger cluster of equal answers, then shorter, then smaller id. max_diversity: one attempt of each
    cluster in turn, larger clusters first. max_length: longest first. Attempts without an answer are one cluster.
    """
    if k >= len(attempts):
        return list(attempts)
    if strategy == "random":
        return random.Random(seed).sample(list(attempts), k)
    if strategy == "max_length":
        return sorted(attempts, key=lambda each: (-each.tokens, each.id))[:k]
    votes = Counter(each.answer for each in attempts)
    if strategy == "max_diversity":
        return _round_robin(attempts, votes)[:k]
    return sorted(attempts, key=lambda each: (-votes[each.answer], each.tokens, each.id))[:k]


def kept_lengths(lengths: Sequence[int], budget: int) -> list[int]:
    """Return min(len_i, l) with the largest integer l for which their sum is at most the budget, in tokens."""
    left = budget
    for place, length in enumerate(sorted(lengths)):
        level = left // (len(lengths) - place)
        if length > level:
            return [min(each, level) for each in lengths]
        left -= length
    return list(lengths)


def prune(attempts: Sequence[Sequence[Token]], budget: int, mark: Sequence[Token] = ()) -> list[list[Token]]:
    """Return the last tokens of each attempt, which hold the answer. A cut attempt starts with `mark`.

    Marks do not count in the budget.
    """
    kept = kept_lengths([len(attempt) for attempt in attempts], budget)
    return [list(attempt) if length == len(attempt) else [*mark, *attempt[len(attempt) - length:]]
            for attempt, length in zip(attempts, kept, strict=True)]


def _round_robin(attempts: Sequence[Attempt], votes: Mapping[Answer, int]) -> list[Attempt]:
    clusters: dict[Answer, list[Attempt]] = {answer: [] for answer in votes}
    for attempt in sorted(attempts, key=lambda each: (each.tokens, each.id)):
        clusters[attempt.answer].append(attempt)
    ordered = sorted(clusters.values(), key=lambda members: (-len(members), min(each.id for each in members)))
    return [attempt for attempt in chain.from_iterable(zip_longest(*ordered)) if attempt is not None]
