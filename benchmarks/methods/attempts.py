"""Choice of queries, metrics and a reward of width: HeavySkill, arXiv 2605.02396. The choice is a reconstruction."""

import math
from collections.abc import Sequence


def chosen_queries(correct: Sequence[Sequence[bool]], size: int, wrong_share: float = 0.2) -> list[int]:
    """Return the indices of at most `size` queries: 80 % with mixed attempts, 20 % (half up) with wrong attempts only.

    Queries with right attempts only, or without attempts, are dropped. If one pool is short the other one fills it.
    """
    mixed = [place for place, flags in enumerate(correct) if any(flags) and not all(flags)]
    wrong = [place for place, flags in enumerate(correct) if len(flags) and not any(flags)]
    quota = math.floor(wrong_share * size + 0.5)
    taken = min(len(wrong), max(quota, size - len(mixed)))
    return sorted(mixed[:size - taken] + wrong[:taken])


def mean_correct(correct: Sequence[bool]) -> float:
    """Return the share of correct ones: M@K of attempts, HM@k of deliberations; 0 for none."""
    return sum(correct) / max(1, len(correct))


def any_correct(correct: Sequence[bool]) -> float:
    """Return 1 if any is correct, else 0: P@K of attempts, HP@k of deliberations."""
    return float(any(correct))


def pass_at(n: int, c: int, k: int) -> float:
    """Return the unbiased P@k = 1 - C(n - c, k) / C(n, k) of n attempts with c correct ones; n >= k."""
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def width_reward(reward: float, cache_mean: float, running_mean: float, bonus: float = 0.0) -> float:
    """Return r(y) + b (HM of the cache with y - running mean), for attempts in mode joint."""
    return reward + bonus * (cache_mean - running_mean)
