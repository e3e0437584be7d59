"""Thinking in parallel, then over all attempts: HeavySkill, arXiv 2605.02396.

Which attempts a deliberation reads and how much of each, which queries are worth training on, and what is measured.
What the paper leaves open (pruning, ties, the filter) is our reconstruction.
"""

import math
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
    """What selection knows of an attempt."""

    id: int
    answer: Answer
    tokens: int


def select(attempts: Sequence[Attempt], k: int, strategy: Strategy = "max_answer_num", seed: int = 0) -> list[Attempt]:
    """Return the k attempts that a deliberation reads, all of them as they stand where there are no more.

    max_answer_num: larger cluster of answers, then shorter, then smaller id. max_diversity: one of each cluster in
    turn, larger first. max_length: longest first. Attempts without an answer are one cluster.
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
    """Return min(len_i, l) with the largest integer l for which they add up to at most the budget, in tokens."""
    left = budget
    for place, length in enumerate(sorted(lengths)):
        level = left // (len(lengths) - place)
        if length > level:
            return [min(each, level) for each in lengths]
        left -= length
    return list(lengths)


def prune(attempts: Sequence[Sequence[Token]], budget: int, mark: Sequence[Token] = ()) -> list[list[Token]]:
    """Keep the last tokens of each attempt, where the answer is, after a mark where it was cut.

    The marks are not part of the budget.
    """
    kept = kept_lengths([len(attempt) for attempt in attempts], budget)
    return [list(attempt) if length == len(attempt) else [*mark, *attempt[len(attempt) - length:]]
            for attempt, length in zip(attempts, kept, strict=True)]


def chosen_queries(correct: Sequence[Sequence[bool]], size: int, wrong_share: float = 0.2) -> list[int]:
    """Return the places of at most `size` queries: 80 % whose attempts differ, 20 % (half up) that all attempts fail.

    Queries that all attempts solve are dropped, those without attempts too; a short pool is filled from the other.
    """
    mixed = [place for place, flags in enumerate(correct) if any(flags) and not all(flags)]
    wrong = [place for place, flags in enumerate(correct) if len(flags) and not any(flags)]
    quota = math.floor(wrong_share * size + 0.5)
    taken = min(len(wrong), max(quota, size - len(mixed)))
    return sorted(mixed[:size - taken] + wrong[:taken])


def mean_correct(correct: Sequence[bool]) -> float:
    """M@K of attempts, HM@k of deliberations: the share that is correct; 0 of none."""
    return sum(correct) / max(1, len(correct))


def any_correct(correct: Sequence[bool]) -> float:
    """P@K of attempts, HP@k of deliberations: 1 if any is correct."""
    return float(any(correct))


def vote(answers: Sequence[Answer], correct: Sequence[bool]) -> float:
    """V@K: correctness of the commonest answer, the expectation over ties; 0 where nobody has an answer."""
    votes = Counter(answer for answer in answers if answer is not None)
    if not votes:
        return 0.0
    right = dict(zip(answers, correct, strict=True))
    top = [answer for answer, count in votes.items() if count == max(votes.values())]
    return mean_correct([right[answer] for answer in top])


def pass_at(n: int, c: int, k: int) -> float:
    """P@k = 1 - C(n - c, k) / C(n, k), without bias, from n attempts of which c are correct; n >= k."""
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def width_reward(reward: float, cache_mean: float, running_mean: float, bonus: float = 0.0) -> float:
    """r(y) + b (HM of the cache that holds y - running mean), for attempts in mode joint."""
    return reward + bonus * (cache_mean - running_mean)


def _round_robin(attempts: Sequence[Attempt], votes: Mapping[Answer, int]) -> list[Attempt]:
    clusters: dict[Answer, list[Attempt]] = {answer: [] for answer in votes}
    for attempt in sorted(attempts, key=lambda each: (each.tokens, each.id)):
        clusters[attempt.answer].append(attempt)
    ordered = sorted(clusters.values(), key=lambda members: (-len(members), min(each.id for each in members)))
    return [attempt for attempt in chain.from_iterable(zip_longest(*ordered)) if attempt is not None]
