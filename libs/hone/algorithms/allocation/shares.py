"""Integer shares of a number of rollouts. numpy."""

import numpy as np

from hone.algorithms.inputs import Floats, Ints


def equal_shares(prompts: int, budget: int) -> Ints:
    """Return floor(budget / prompts) for each prompt, and one more for each of the first (budget mod prompts), [N]."""
    share, rest = divmod(budget, max(1, prompts))
    return share + (np.arange(prompts, dtype=np.int64) < rest)


def weighted_shares(weights: Floats, total: int) -> Ints:
    """Return integer shares with the sum `total`. Remainders go to the largest fractions, ties to the lower index."""
    exact = total * weights / weights.sum()
    shares: Ints = np.floor(exact + 1e-9).astype(np.int64)
    fractions = np.where(weights > 0, np.round(exact - shares, 9), -1.0)
    shares[np.argsort(-fractions, kind="stable")[:total - shares.sum()]] += 1
    return shares


def in_turn(room: Ints, rest: int) -> Ints:
    """Return `rest` rollouts distributed one by one, in the prompts' order, to prompts below their limit."""
    rounds, most = 0, min(rest, int(room.max(initial=0)))  # whole rounds: the most for which `rest` is enough
    while rounds < most:
        middle = (rounds + most + 1) // 2
        rounds, most = (middle, most) if np.minimum(room, middle).sum() <= rest else (rounds, middle - 1)
    counts: Ints = np.minimum(room, rounds)
    counts[np.flatnonzero(room > rounds)[:rest - int(counts.sum())]] += 1
    return counts
