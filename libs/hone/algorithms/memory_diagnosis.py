"""Why questions failed, over many lives: shares with intervals, of whole lives or after one period.

After AMemGym, arXiv 2603.01966.
The figures are the paper's, by `scores`; their intervals are Hone's. A life is drawn by itself, while its questions and
periods hang together: so intervals are over lives, each with the mean of its samples.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from hone.algorithms import transfer
from hone.algorithms.proportions import wilson
from hone.remembering.scores import CAUSES, Cause, PeriodResult

FEWEST = 10
"""Lives from which an interval is drawn by bootstrap, which is too narrow of fewer."""


@dataclass(frozen=True)
class Lived:
    """One sample of a life: what probes showed after each period that it reached."""

    life: str  # content hash of the task: the samples of one life have the same
    results: tuple[PeriodResult, ...]


@dataclass(frozen=True)
class Figure:
    """A mean over lives with its 95 % interval; None where nothing is known."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis by samples. The shares of questions `accuracy`, `write`, `read` and `utilization` add up to 1."""

    lives: int
    samples: int
    questions: int  # that were asked
    failures: Mapping[Cause, int]  # questions that failed, by cause
    shares: Mapping[str, Figure]  # accuracy, each cause, and known: of the diagnoses of all variables
    memory_score: Figure  # of the periods that have one
    random: float
    upper: float
    left_out: int  # periods without a memory score
    json_errors: int


_SHARES: Mapping[str, Callable[[PeriodResult], float]] = {
    "accuracy": lambda one: one.accuracy,
    "write": lambda one: fmean(cause == "write" for cause in one.causes),
    "read": lambda one: fmean(cause == "read" for cause in one.causes),
    "utilization": lambda one: fmean(cause == "utilization" for cause in one.causes),
    "known": lambda one: fmean(one.known.values()),
}


def diagnosis(samples: Sequence[Lived], seed: int, period: int | None = None) -> Diagnosis | None:
    """Return the figures of samples after one period, or of all that they reached; None: no sample reached it.

    An interval of shares is from the 2.5 to the 97.5 percentile of a bootstrap over lives, drawn with `seed`. Of fewer
    than FEWEST lives, or where all have the same share, it is Wilson's, as if a life were one trial: that is wider than
    need be, and never of no width. A memory score, which is no share, has no interval there.
    """
    seen = [Lived(one.life, tuple(found for found in one.results if period in (None, found.period))) for one in samples]
    seen = [one for one in seen if one.results]
    if not seen:
        return None
    every = [found for one in seen for found in one.results]
    return Diagnosis(
        len({one.life for one in seen}), len(seen), sum(len(one.right) for one in every),
        {kind: sum(cause == kind for one in every for cause in one.causes) for kind in CAUSES},
        {name: _share(_by_life(seen, of), seed) for name, of in _SHARES.items()},
        _score(_by_life(seen, lambda one: one.memory_score), seed),
        fmean(chance for one in every for chance in one.random), fmean(bound for one in every for bound in one.upper),
        sum(one.memory_score is None for one in every), sum(one.json_errors for one in every))


def _by_life(samples: Sequence[Lived], of: Callable[[PeriodResult], float | None]) -> list[float]:
    """Return the mean of each life over its samples, each the mean over its periods; those without a figure left out.
    """
    means = dict[str, list[float]]()
    for one in samples:
        known = [value for found in one.results if (value := of(found)) is not None]
        if known:
            means.setdefault(one.life, []).append(fmean(known))
    return [fmean(values) for values in means.values()]


def _share(values: Sequence[float], seed: int) -> Figure:
    drawn = _drawn(values, seed)
    low, high = (drawn.low, drawn.high) if drawn else wilson(min(1.0, fmean(values)), len(values))
    return Figure(fmean(values), low, high)


def _score(values: Sequence[float], seed: int) -> Figure:
    drawn = _drawn(values, seed)
    return Figure(fmean(values) if values else None, *((drawn.low, drawn.high) if drawn else ()))


def _drawn(values: Sequence[float], seed: int) -> transfer.Estimate | None:
    """Return the estimate by bootstrap; None where it would be too narrow."""
    if len(values) < FEWEST or max(values) - min(values) < 1e-9:
        return None
    return transfer.estimate([np.array(values, np.float64)], seed)
