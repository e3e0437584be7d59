"""Effects of training on some sources of tasks on these and on other sources: RFT generalization, arXiv 2603.12011.

A matrix has the scores of E sources after each of T stages. Row 0 is the base, row t the weights after stage t. Every
figure is a mean over sources of a difference between two rows; a cell that is NaN is left out, and a mean over nothing
is NaN. Intervals are Hone's addition.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hone.algorithms.inputs import Flags, Floats

DRAWS = 2000
_AT_ONCE = 2**22  # numbers that are drawn at a time


@dataclass(frozen=True)
class Change:
    """A source, and the rows whose scores are compared."""

    source: int
    before: int
    after: int


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, in the unit of the scores."""

    value: float
    low: float
    high: float

    @property
    def real(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


def held_in(trained: Flags, stage: int) -> list[Change]:
    """Return the changes from the base to `stage`, from 1, on the sources that it trained. `trained` is [T, E]."""
    return [Change(int(source), 0, stage) for source in np.flatnonzero(trained[stage - 1])]


def held_out(trained: Flags, stage: int) -> list[Change]:
    """Return the changes from the base to `stage` on the sources that it did not train."""
    return [Change(int(source), 0, stage) for source in np.flatnonzero(~trained[stage - 1])]


def overall(trained: Flags, stage: int) -> list[Change]:
    """Return the changes from the base to `stage` on all sources."""
    return [Change(source, 0, stage) for source in range(trained.shape[1])]


def backward(trained: Flags) -> list[Change]:
    """Return the changes since a source was trained last, to the last stage; not of those that it trained itself.

    Their mean is BWT = mean_{j<T} (R_Tj - R_jj); negative: forgetting.
    """
    last = len(trained)
    stages = ((source, np.flatnonzero(column)) for source, column in enumerate(trained.T))
    return [Change(source, int(own[-1]) + 1, last) for source, own in stages if len(own) and own[-1] + 1 < last]


def forward(trained: Flags) -> list[Change]:
    """Return the changes from the base to the stage before a source was trained first; not of the first stage's.

    Their mean is FWT = mean_{j>1} (R_{j-1,j} - S_0j).
    """
    stages = ((source, np.flatnonzero(column)) for source, column in enumerate(trained.T))
    return [Change(source, 0, int(own[0])) for source, own in stages if len(own) and own[0] > 0]


def mean_change(matrix: Floats, changes: Iterable[Change]) -> float:
    """Return the mean of the changes in a matrix of scores, [T + 1, E]."""
    return _mean([matrix[one.after, one.source] - matrix[one.before, one.source] for one in changes])


def average(row: Floats) -> float:
    """Return the mean score over the sources, [E]."""
    return _mean(row)


def relative_error_reduction(base: float, trained: float, top: float = 1.0) -> float:
    """Return (S - S_0) / (top - S_0); NaN where the base has the top score."""
    return (trained - base) / (top - base) if base != top else math.nan


def estimate(differences: Sequence[Floats], seed: int, draws: int = DRAWS) -> Estimate:
    """Return the mean over sources of the mean over tasks, with its interval by a paired bootstrap over tasks.

    `differences` has for each source one difference, or score, of each task. Each draw takes every source's tasks anew,
    with replacement; the interval is from the 2.5 to the 97.5 percentile, with linear interpolation. A source without
    tasks is left out. Without draws there is no interval.
    """
    random, known = np.random.default_rng(seed), [one for one in differences if len(one)]
    if not known:
        return Estimate(math.nan, math.nan, math.nan)
    value = float(np.mean([one.mean() for one in known]))
    if not draws:
        return Estimate(value, math.nan, math.nan)
    means = np.mean([_resampled(one, random, draws) for one in known], axis=0)
    low, high = np.percentile(means, [2.5, 97.5])
    return Estimate(value, float(low), float(high))


def _resampled(values: Floats, random: np.random.Generator, draws: int) -> Floats:
    """Return the mean of each draw, [draws]."""
    step = max(1, _AT_ONCE // len(values))
    parts = [values[random.integers(len(values), size=(min(step, draws - begin), len(values)))].mean(axis=1)
             for begin in range(0, draws, step)]
    return np.concatenate(parts)


def _mean(values: Floats | Sequence[float]) -> float:
    known = np.asarray(values, np.float64)
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else math.nan
