"""Fits one model for each step: boosted trees that stop early on held-out merchants, or a logistic model.

A reconstruction: arXiv 2604.15190 says that a model is fitted to logs and sees the policies, and not which one.
scikit-learn fits; what it found is kept as plain numbers.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hone.audiences.columns import Floats
from hone.audiences.models import Model, Tree

Kind = Literal["boosting", "logistic"]
TREES, RATE, DEPTH, LEAF = 120, 0.1, 3, 20
_ENOUGH = 30
"""Held-out exposures of either outcome from which a calibration is taken."""


def fit(rows: Floats, outcome: Floats, held_out: NDArray[np.bool_], kind: Kind, seed: int = 0) -> Model:
    """Return a model of rows [N, F] and outcomes [N], 0 or 1, calibrated by Platt's method on the held-out ones [N].

    A step that all or none of the exposures reach gets a constant: its smoothed rate. Where no row is held out,
    nothing stops early and nothing is calibrated.
    """
    taught = ~held_out
    if len(set(outcome[taught])) < 2:
        rate = (outcome.sum() + 0.5) / (len(outcome) + 1.0)
        return Model(float(np.log(rate / (1 - rate))), np.zeros(rows.shape[1]), ())
    found = _boosted(rows, outcome, held_out, seed) if kind == "boosting" else _logistic(rows[taught], outcome[taught])
    return _calibrated(found, rows[held_out], outcome[held_out])


def _logistic(rows: Floats, outcome: Floats) -> Model:
    from sklearn.linear_model import LogisticRegression

    centre, scale = rows.mean(0), np.maximum(rows.std(0), 1e-9)
    found = LogisticRegression(C=1.0, max_iter=1000).fit((rows - centre) / scale, outcome > 0.5)
    weights = found.coef_[0] / scale
    return Model(float(found.intercept_[0] - centre @ weights), np.asarray(weights), ())


def _boosted(rows: Floats, outcome: Floats, held_out: NDArray[np.bool_], seed: int) -> Model:
    from sklearn.ensemble import GradientBoostingClassifier

    taught = ~held_out
    found = GradientBoostingClassifier(
        n_estimators=TREES, learning_rate=RATE, max_depth=DEPTH, min_samples_leaf=LEAF, subsample=0.8,
        random_state=seed).fit(rows[taught], outcome[taught] > 0.5)
    rate = outcome[taught].mean()
    trees = [_tree(one[0].tree_) for one in found.estimators_]
    kept = _best(trees, float(np.log(rate / (1 - rate))), rows[held_out], outcome[held_out])
    return Model(float(np.log(rate / (1 - rate))), np.zeros(rows.shape[1]), trees[:kept])


def _tree(found: object) -> Tree:
    left, right, column, bound, value = (np.array(getattr(found, name)) for name in (
        "children_left", "children_right", "feature", "threshold", "value"))
    return Tree(left.astype(np.int64), right.astype(np.int64), column.astype(np.int64), bound.astype(np.float64),
                RATE * value[:, 0, 0])


def _best(trees: list[Tree], start: float, rows: Floats, outcome: Floats) -> int:
    """Return how many trees predict the held-out rows best; all where none are held out."""
    if len(rows) == 0:
        return len(trees)
    odds, losses = np.full(len(rows), start), []
    for tree in trees:
        odds = odds + tree.predict(rows)
        losses.append(float(np.mean(np.logaddexp(0.0, odds) - outcome * odds)))
    return int(np.argmin(losses)) + 1


def _calibrated(found: Model, rows: Floats, outcome: Floats) -> Model:
    """Return a model with Platt's slope and shift, where the held-out rows are enough for that."""
    if min(outcome.sum(), len(outcome) - outcome.sum()) < _ENOUGH:
        return found
    from sklearn.linear_model import LogisticRegression

    odds = found.log_odds(rows)
    if odds.std() < 1e-9:
        return found
    platt = LogisticRegression(C=1e6, max_iter=1000).fit(odds[:, None], outcome > 0.5)
    slope = float(platt.coef_[0, 0])
    return found if slope <= 0 else Model(found.intercept, found.weights, found.trees, slope,
                                          float(platt.intercept_[0]))
