"""The chance of success that a router takes for a model: V0's, or a share of successes where V0 is not reliable yet."""

import numpy as np

from hone.algorithms.inputs import Floats
from hone.algorithms.value import predicting
from hone.algorithms.value.heads import RidgeWeights

Chances = tuple[Floats, str]
"""Chances of success [Q], and why they are not V0's, empty where they are."""


def chances(context: Floats, outcomes: Floats, queries: Floats, head: str, weights: RidgeWeights) -> Chances:
    """Return the chances of queries [Q, F] by a model's context features [S, F] and outcomes [S] from 0 to 1.

    Where V0 is unreliable they are (successes + 1) / (S + 2) for all queries, without rows 0.5: a model with few
    outcomes is neither asked for everything nor for nothing. An outcome of at least 0.5 is a success.
    """
    found = predicting.predict(context, outcomes, queries, head, weights)
    if not found.unreliable:
        return found.p, ""
    return np.full(len(queries), (float((outcomes >= 0.5).sum()) + 1.0) / (len(outcomes) + 2.0)), found.unreliable


def cross_predicted(
    context: Floats, outcomes: Floats, folds: Floats, head: str, weights: RidgeWeights,
) -> Floats:
    """Return the chance of each row [S], predicted from the first 256 rows of the other folds; `folds` is [S]."""
    made = np.zeros(len(outcomes))
    for fold in np.unique(folds):
        asked, known = folds == fold, np.flatnonzero(folds != fold)[:predicting.CONTEXT_ROWS]
        made[asked], _ = chances(context[known], outcomes[known], context[asked], head, weights)
    return made
