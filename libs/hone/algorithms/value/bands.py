"""Bands of expected success: where a step's rollouts went, and what came of them. numpy, float64."""

from typing import NamedTuple

import numpy as np

from hone.algorithms.inputs import Floats

BANDS = ("0-20", "20-40", "40-60", "60-80", "80-100")
"""Bands of chances, in per cent. A chance at the border of two belongs to the upper one, 1 to the last."""


class ChanceBand(NamedTuple):
    """The groups of a step whose expected chance of success is in one band: means over them."""

    groups: int
    rollouts: float
    expected: float
    actual: float


def bands(chances: Floats, rollouts: Floats, outcomes: Floats) -> dict[str, ChanceBand]:
    """Return each band that has a group: how many, and the means of rollouts, chance and outcome."""
    of = np.minimum((chances * len(BANDS) + 1e-9).astype(np.int64), len(BANDS) - 1)
    return {name: ChanceBand(int(own.sum()), float(rollouts[own].mean()), float(chances[own].mean()),
                       float(outcomes[own].mean()))
            for number, name in enumerate(BANDS) if (own := of == number).any()}
