"""How far simulated rates are from measured ones. The metric is a reconstruction: arXiv 2604.15190."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hone.audiences.columns import Floats

RATE_FLOOR = 0.02
SMALLEST_GROUP = 30
"""Users below which a group counts for the absolute error alone."""


@dataclass(frozen=True)
class Accuracy:
    """Errors over groups and steps. None: nothing could be compared."""

    gse: float | None  # percent of the rate
    mae: float
    groups: int


def group_error(predicted: Floats, rates: Floats, floor: float = RATE_FLOOR) -> float:
    """Return the group simulation error in percent: the mean of |P - Y| / max(Y, floor), of equal shapes."""
    return float(100.0 * np.mean(np.abs(predicted - rates) / np.maximum(rates, floor)))


def measured(predicted: Floats, rates: Floats, users: Floats) -> Accuracy:
    """Return the errors of G groups: `predicted` and `rates` are [G, K], `users` [G]. G is at least 1."""
    large = users >= SMALLEST_GROUP
    gse = group_error(predicted[large], rates[large]) if large.any() else None
    return Accuracy(gse, float(np.mean(np.abs(predicted - rates))), len(users))


def by_stratum(predicted: Floats, rates: Floats, users: Floats, strata: Sequence[str]) -> dict[str, Accuracy]:
    """Return the errors of each stratum."""
    names = np.array(strata)
    return {name: measured(predicted[names == name], rates[names == name], users[names == name])
            for name in sorted(set(strata))}


def sign_accuracy(predicted: Floats, rates: Floats, pairs: Sequence[tuple[int, int]]) -> float | None:
    """Return the share of counterfactual differences whose direction is right, over pairs of groups and steps.

    A pair names two groups that differ in their strategy. Steps whose rate does not differ are left out.
    """
    right = [(predicted[one] - predicted[other])[step] * change > 0
             for one, other in pairs for step, change in enumerate(rates[one] - rates[other]) if change != 0]
    return float(np.mean(right)) if right else None
