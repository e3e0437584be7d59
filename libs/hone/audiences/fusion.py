"""The reasoned and the fitted rate of a group, joined by least squares. A reconstruction: arXiv 2604.15190.

The paper fuses at group level; the stratified least squares, its guard and its shrinkage are ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hone.audiences.columns import Floats

_SMALLEST = 1e-8
SHRINKAGE = 200.0
"""Users whose worth the global weight has in the weight of a stratum."""


@dataclass(frozen=True)
class Fusion:
    """The reasoner's weight for each of K steps, over all groups and by stratum."""

    weights: tuple[float, ...]
    strata: Mapping[str, tuple[float, ...]]

    def weight(self, stratum: str, extrapolates: bool) -> Floats:
        """Return the weights [K] of a group. Beyond the strategies of the fit the global ones hold."""
        chosen = self.weights if extrapolates else self.strata.get(stratum, self.weights)
        return np.array(chosen)

    def fuse(self, reasoned: Floats, fitted: Floats, stratum: str, extrapolates: bool) -> Floats:
        """Return the fused rates [K] of a group: w x R + (1 - w) x F."""
        share = self.weight(stratum, extrapolates)
        return np.asarray(share * reasoned + (1.0 - share) * fitted)


def least_squares(rates: Floats, reasoned: Floats, fitted: Floats, users: Floats) -> Floats:
    """Return the weight [K] of the reasoner that fits the rates of G groups best, from 0 to 1; 0.5 where R is F.

    `rates`, `reasoned` and `fitted` are [G, K], `users` is [G].
    """
    gap = reasoned - fitted
    above = (users[:, None] * (rates - fitted) * gap).sum(0)
    below = (users[:, None] * gap**2).sum(0)
    guarded = below < _SMALLEST
    return np.where(guarded, 0.5, np.clip(above / np.where(guarded, 1.0, below), 0.0, 1.0))


def calibrate(
    rates: Floats, reasoned: Floats, fitted: Floats, users: Floats, strata: Sequence[str],
    shrinkage: float = SHRINKAGE,
) -> Fusion:
    """Return the weights of G calibration groups: of all of them, and of each stratum drawn towards that.

    Shapes as in `least_squares`; `strata` names the stratum of each group.
    """
    overall, names = least_squares(rates, reasoned, fitted, users), np.array(strata)
    by_stratum = {}
    for name in sorted(set(strata)):
        own = names == name
        count = users[own].sum()
        found = least_squares(rates[own], reasoned[own], fitted[own], users[own])
        by_stratum[name] = tuple(((count * found + shrinkage * overall) / (count + shrinkage)).tolist())
    return Fusion(tuple(overall.tolist()), by_stratum)
