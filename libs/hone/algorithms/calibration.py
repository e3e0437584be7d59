"""How well predicted chances of success agreed with what was sampled afterwards. numpy, float64.

V0, arXiv 2602.03584, logs the calibration error and the area under the curve of its predictions. Bands of chances show
where rollouts went.
"""

from typing import NamedTuple

import numpy as np

from hone.algorithms.inputs import Floats, Ints

BANDS = ("0-20", "20-40", "40-60", "60-80", "80-100")
"""Bands of chances, in per cent. A chance at the border of two belongs to the upper one, 1 to the last."""
_BINS = 10


class ChanceBand(NamedTuple):
    """The groups of a step whose expected chance of success is in one band: means over them."""

    groups: int
    rollouts: float
    expected: float
    actual: float


def calibration_error(chances: Floats, outcomes: Floats) -> float:
    """Return the mean over prompts of |mean chance - mean outcome| of their bin; 10 bins of equal width, [N] each."""
    bins = _bin(chances, _BINS)
    gaps = np.abs(np.bincount(bins, chances - outcomes, _BINS))
    return float(gaps.sum() / max(1, len(chances)))


def area_under_curve(chances: Floats, successes: Floats) -> float | None:
    """Return the share of pairs of a success (1) and a failure (0) that chances order rightly; equal ones count half.

    Return None where there are no such pairs.
    """
    won, lost = chances[successes > 0], chances[successes <= 0]
    if not len(won) or not len(lost):
        return None
    below = np.sort(lost)
    ranks = np.searchsorted(below, won, "left") + np.searchsorted(below, won, "right")
    return float(ranks.sum() / (2 * len(won) * len(lost)))


def bands(chances: Floats, rollouts: Floats, outcomes: Floats) -> dict[str, ChanceBand]:
    """Return each band that has a group: how many, and the means of rollouts, chance and outcome."""
    of = _bin(chances, len(BANDS))
    return {name: ChanceBand(int(own.sum()), float(rollouts[own].mean()), float(chances[own].mean()),
                       float(outcomes[own].mean()))
            for number, name in enumerate(BANDS) if (own := of == number).any()}


def _bin(chances: Floats, count: int) -> Ints:
    return np.minimum((chances * count + 1e-9).astype(np.int64), count - 1)
