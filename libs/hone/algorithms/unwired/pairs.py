"""SelSkill's preference pairs, arXiv 2606.00510 (reconstruction): makes pairs, decides the winner and balances them.

Turns are counted from 0. The caller passes all numbers of its spec.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hone.algorithms.inputs import Flags, Floats, Ints

Verdict = Literal["invoke", "skip", "discard"]

SPACING = 3
"""Fewest turns between two branches of an episode."""

WINDOW = 3
"""Assistant turns from a branch on whose tokens are trained."""


@dataclass(frozen=True)
class Continuation:
    """The end of an episode or of a branch."""

    success: bool
    steps: int  # environment steps; for a branch: steps after the branch


@dataclass(frozen=True)
class Candidate:
    """A turn that may become a branch."""

    episode: int
    turn: int
    entropy: float  # mean over the turn's tokens, nats
    invoked: bool  # whether a skill was called in the turn


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


def turn_entropy(logp: Floats) -> float:
    """Return H = mean over tokens of -sum p ln p, nats; `logp` [tokens, K] has the K likeliest ids, others are merged.

    A turn without a token has H = 0.
    """
    if not len(logp):
        return 0.0
    p = np.exp(logp)
    p = np.column_stack([p, np.clip(1 - p.sum(axis=1), 0, 1)])
    return float(-np.sum(p * np.log(p, where=p > 0, out=np.zeros_like(p)), axis=1).mean())


def branches(candidates: Iterable[Candidate], most: int = 4) -> list[Candidate]:
    """Return at most `most` branches among the candidates of a task, in the order of choice.

    Candidates are tried by falling entropy (ties: lower episode, lower turn). Each needs SPACING turns to chosen ones
    of its episode. The first pass takes at most most // 2 with a call and as many without; the second pass takes any.
    """
    ranked = sorted(candidates, key=lambda each: (-each.entropy, each.episode, each.turn))
    chosen: list[Candidate] = []
    for each in ranked:
        if sum(each.invoked == other.invoked for other in chosen) < most // 2 and _apart(each, chosen):
            chosen.append(each)
    for each in ranked:
        if len(chosen) < most and _apart(each, chosen):
            chosen.append(each)
    return chosen


def _apart(candidate: Candidate, chosen: Sequence[Candidate]) -> bool:
    return all(other.episode != candidate.episode or abs(other.turn - candidate.turn) >= SPACING for other in chosen)


def window(turn: Ints, branch: int) -> Flags:
    """Return whether each token is in the WINDOW turns from `branch` on, [M]; `turn` [M] is the token's turn."""
    return (turn >= branch) & (turn < branch + WINDOW)


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
