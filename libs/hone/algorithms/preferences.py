"""Rules of SelSkill's preference pairs, arXiv 2606.00510 (reconstruction): winners, and the balance of both.

Turns are counted from 0. The caller passes all numbers of its spec.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Verdict = Literal["invoke", "skip", "discard"]

SIDES = ("invoke", "skip")
"""The sides of a branch; each is the kind of its first call."""

WINDOW = 3
"""Assistant turns from a branch on whose tokens are trained."""


@dataclass(frozen=True)
class Continuation:
    """The end of an episode or of a branch."""

    success: bool
    steps: int  # environment steps; for a branch: steps after the branch


def episode_pairs(episodes: Sequence[Continuation], limit: int = 2) -> list[tuple[int, int]]:
    """Return at most `limit` index pairs (success, failure) of a task's rollouts, shortest successes first."""
    won = sorted((place for place, each in enumerate(episodes) if each.success), key=lambda w: episodes[w].steps)
    lost = [place for place, each in enumerate(episodes) if not each.success]
    return list(zip(won, lost, strict=False))[:limit]


def verdict(invoke: Continuation, skip: Continuation) -> Verdict:
    """Return the winner: the only success, or the shorter of two successes, else neither."""
    if invoke.success != skip.success:
        return "invoke" if invoke.success else "skip"
    if not invoke.success or invoke.steps == skip.steps:
        return "discard"
    return "invoke" if invoke.steps < skip.steps else "skip"


def agreed(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the common verdict of a branch's repeats; discard where they differ or are missing."""
    return verdicts[0] if len(set(verdicts)) == 1 else "discard"


def degenerate(winner: Sequence[int], loser: Sequence[int]) -> bool:
    """Return whether a pair is useless: its sides have equal tokens, or one side has none."""
    return not winner or not loser or list(winner) == list(loser)


def balanced(verdicts: Sequence[Verdict], seed: int) -> list[int]:
    """Return the indices of the kept pairs, ascending, with at most 70 % of either verdict.

    The larger class keeps floor(7/3 of the smaller one), drawn with `seed`. With one class alone no pair is kept.
    """
    invoke, skip = ([place for place, each in enumerate(verdicts) if each == kind] for kind in ("invoke", "skip"))
    smaller, larger = sorted((invoke, skip), key=len)
    room = min(len(larger), 7 * len(smaller) // 3)
    drawn = np.random.default_rng(seed).choice(np.array(larger, np.int64), room, replace=False)
    return sorted([*smaller, *drawn.tolist()]) if smaller else []


def repeats(episode: int, step: int) -> int:
    """Return the number of uses of each of `step` step pairs that makes them a tenth of all pairs."""
    return max(1, math.ceil(episode / (9 * step))) if step else 1
