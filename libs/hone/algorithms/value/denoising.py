"""Denoising of a context: its rows are clustered, and one row stands for each cluster with the cluster's mean outcome.

V0's option, off by default. Contexts are small, so k-means reads all rows in each round instead of mini-batches.
"""

import numpy as np

from hone.algorithms.inputs import Floats, Ints

_ROUNDS = 25


def clustered(context: Floats, outcomes: Floats, clusters: int) -> tuple[Floats, Floats]:
    """Return the row nearest to each cluster's centre [K, F] and the cluster's mean outcome [K]; a small context whole.

    `context` is [S, F], `outcomes` [S]. Equal contexts give equal clusters.
    """
    if len(context) <= clusters:
        return context, outcomes
    centres = context[_spread(context, clusters)]
    of = np.zeros(len(context), np.int64)
    for _ in range(_ROUNDS):
        before, of = of, np.argmin(_distances(context, centres), 1)
        filled = np.unique(of)
        centres = np.stack([context[of == number].mean(0) for number in filled])
        of = np.searchsorted(filled, of)
        if np.array_equal(before, of):
            break
    apart = _distances(context, centres)
    apart[of[:, None] != np.arange(len(centres))] = np.inf
    rows = np.argmin(apart, 0)
    return context[rows], np.array([outcomes[of == number].mean() for number in range(len(centres))])


def _spread(context: Floats, clusters: int) -> Ints:
    """Return the places of rows that are far from one another: the first one, then always the farthest from all."""
    chosen, nearest = [0], _distances(context, context[:1])[:, 0]
    while len(chosen) < clusters:
        chosen.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, _distances(context, context[chosen[-1:]])[:, 0])
    return np.array(chosen)


def _distances(rows: Floats, centres: Floats) -> Floats:
    """Return squared distances, [S, K]."""
    found: Floats = (rows**2).sum(1)[:, None] - 2 * rows @ centres.T + (centres**2).sum(1)[None]
    return found
