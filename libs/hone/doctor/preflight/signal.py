"""The expected share of groups with signal: groups whose samples do not all have the same score.

Scores of two values: each task has a chance p of the higher one, and the chances of tasks are Beta distributed. The
posterior of that distribution given the samples, on a grid with a flat prior on its mean and on the logarithm of its
concentration, gives the share 1 - E[p^n] - E[(1 - p)^n] for groups of n. Scores of more values: q is the chance that
two samples of a task have equal scores, and 1 - q^(n - 1) is the share, which is rough.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import exp, lgamma, log

from hone.client.preflight import Finding, Signal
from hone.doctor.findings import ok, warning

_MEANS = [(place + 0.5) / 40 for place in range(40)]
_CONCENTRATIONS = [0.25 * 2**place for place in range(9)]
_LOW, _HIGH = 0.1, 0.9
"""Quantiles of the interval."""
_FEW, _SOME = 0.1, 0.3

Weighted = list[tuple[float, float]]
"""Pairs of a share and the logarithm of its weight."""


def expected(scores: Sequence[Sequence[float]], group: int) -> Signal | None:
    """Return the estimate for groups of `group` samples from the scores of each task's samples; None without scores."""
    tasks = [one for one in scores if one]
    every = [score for one in tasks for score in one]
    if not every or group < 2:
        return None
    values = sorted(set(every))
    higher = values[-1] if values[-1] > 0 else 1.0
    shares = _of_two(tasks, higher, group) if len(values) <= 2 else _of_more(tasks, group)
    share, low, high = _summed(shares)
    return Signal(share=share, low=low, high=high, pass_rate=sum(every) / len(every), tasks=len(tasks),
                  samples=len(every), group=group)


def _of_two(tasks: Sequence[Sequence[float]], higher: float, group: int) -> Weighted:
    counts = [(sum(score >= higher for score in one), len(one)) for one in tasks]
    found: Weighted = []
    for mean in _MEANS:
        for concentration in _CONCENTRATIONS:
            a, b = mean * concentration, (1 - mean) * concentration
            weight = sum(_beta(a + right, b + of - right) - _beta(a, b) for right, of in counts)
            equal = exp(_beta(a + group, b) - _beta(a, b)) + exp(_beta(a, b + group) - _beta(a, b))
            found.append((1 - equal, weight))
    return found


def _of_more(tasks: Sequence[Sequence[float]], group: int) -> Weighted:
    pairs = [(first == second) for one in tasks for first, second in pairwise(one)]
    equal, unequal = sum(pairs), len(pairs) - sum(pairs)
    return [(1 - q ** (group - 1), equal * log(q) + unequal * log(1 - q)) for q in _MEANS]


def _beta(a: float, b: float) -> float:
    """Return the logarithm of the beta function."""
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _summed(shares: Weighted) -> tuple[float, float, float]:
    """Return the weighted mean of shares and their quantiles."""
    most = max(weight for _, weight in shares)
    ranked = sorted((share, exp(weight - most)) for share, weight in shares)
    whole = sum(weight for _, weight in ranked)
    mean, passed, bounds = sum(share * weight for share, weight in ranked) / whole, 0.0, dict[float, float]()
    for share, weight in ranked:
        passed += weight / whole
        for quantile in (_LOW, _HIGH):
            if passed >= quantile:
                bounds.setdefault(quantile, share)
    return mean, bounds[_LOW], bounds.get(_HIGH, ranked[-1][0])


def conclusions(found: Signal, relative: bool) -> Iterator[Finding]:
    """Yield what the estimate means. `relative`: the method compares the samples of a group with each other."""
    message = (f"about {found.share:.0%} of groups of {found.group} are expected to have different scores "
            f"({found.low:.0%} to {found.high:.0%}); mean score {found.pass_rate:.2f} over {found.samples} samples of "
            f"{found.tasks} tasks, an estimate")
    check = "groups with signal"
    if not relative or found.share >= _SOME:
        yield ok(check, message)
    elif found.pass_rate >= 0.5:
        yield warning(check, f"{message}: most groups would be all right, with nothing to learn",
                      "take harder tasks, or more samples of a group (batch.samples)")
    else:
        few = "nearly every group" if found.share < _FEW else "most groups"
        yield warning(check, f"{message}: {few} would be all wrong, with nothing to learn",
                      "take easier tasks, warm up on completions first (a stage with algorithm: sft), or take more "
                      "samples of a group (batch.samples)")
