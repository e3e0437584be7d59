"""SelSkill's preference pairs, arXiv 2606.00510 (reconstruction): which are made, which side wins, how many are kept.

Turns are counted from 0. Nothing here has parameters of a slot: the caller passes the numbers of its spec.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hone.algorithms.inputs import Flags, Floats, Ints

Verdict = Literal["invoke", "skip", "discard"]

SPACING = 3
"""Turns between two branches of an episode, at least."""

WINDOW = 3
"""Assistant turns after a branch, its own included, whose tokens are trained."""


@dataclass(frozen=True)
class Continuation:
    """How an episode ended, or what came of a branch."""

    success: bool
    steps: int  # environment steps; of a branch: those after it


@dataclass(frozen=True)
class Candidate:
    """A turn where one may branch."""

    episode: int
    turn: int
    entropy: float  # mean over the turn's tokens, nats
    invoked: bool  # a skill was called there


def episode_pairs(episodes: Sequence[Continuation], limit: int = 2) -> list[tuple[int, int]]:
    """Return (success, failure) places of a task's rollouts, at most `limit`: shortest successes first."""
    won = sorted((place for place, each in enumerate(episodes) if each.success), key=lambda w: episodes[w].steps)
    lost = [place for place, each in enumerate(episodes) if not each.success]
    return list(zip(won, lost, strict=False))[:limit]


def verdict(invoke: Continuation, skip: Continuation) -> Verdict:
    """Return which continuation wins: the only success; of two successes the shorter; else neither."""
    if invoke.success != skip.success:
        return "invoke" if invoke.success else "skip"
    if not invoke.success or invoke.steps == skip.steps:
        return "discard"
    return "invoke" if invoke.steps < skip.steps else "skip"


def agreed(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of a branch's repeats, or discard where they differ or there is none."""
    return verdicts[0] if len(set(verdicts)) == 1 else "discard"


def turn_entropy(logp: Floats) -> float:
    """H = mean over tokens of -sum p ln p, nats; `logp` [tokens, K], the K likeliest ids, all others merged into one.

    A turn without a token has 0.
    """
    if not len(logp):
        return 0.0
    p = np.exp(logp)
    p = np.column_stack([p, np.clip(1 - p.sum(axis=1), 0, 1)])
    return float(-np.sum(p * np.log(p, where=p > 0, out=np.zeros_like(p)), axis=1).mean())


def branches(candidates: Iterable[Candidate], most: int = 4) -> list[Candidate]:
    """Return the candidates of a task to branch at, at most `most`, in the order in which they are chosen.

    By falling entropy (ties: lower episode, lower turn), none fewer than SPACING turns from a chosen one of its
    episode. The first pass takes at most most // 2 with a call and as many without, the second fills up with any.
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
    """Return which tokens are trained, [M]: those of the WINDOW turns from `branch` on; `turn` [M] is each token's."""
    return (turn >= branch) & (turn < branch + WINDOW)


def degenerate(winner: Sequence[int], loser: Sequence[int]) -> bool:
    """Return whether a pair teaches nothing: the same tokens on both sides, or none on one."""
    return not winner or not loser or list(winner) == list(loser)


def balanced(verdicts: Sequence[Verdict], seed: int) -> list[int]:
    """Return the places of the pairs kept, ascending, so that neither verdict has more than 70 %.

    The larger class keeps floor(7/3 of the smaller), drawn by `seed`; with one class only none is kept.
    """
    invoke, skip = ([place for place, each in enumerate(verdicts) if each == kind] for kind in ("invoke", "skip"))
    smaller, larger = sorted((invoke, skip), key=len)
    room = min(len(larger), 7 * len(smaller) // 3)
    drawn = np.random.default_rng(seed).choice(np.array(larger, np.int64), room, replace=False)
    return sorted([*smaller, *drawn.tolist()]) if smaller else []


def repeats(episode: int, step: int) -> int:
    """Return how often each of `step` step pairs is used, so that they are a tenth of all beside `episode` pairs."""
    return max(1, math.ceil(episode / (9 * step))) if step else 1
