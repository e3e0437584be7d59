"""How good predicted success is: ranking within a policy and overall, and calibration."""

from collections.abc import Sequence

import numpy as np

from hone.algorithms.inputs import Floats

Labelled = tuple[Floats, Floats]
"""Outcomes from 0 to 1, and the scores or probabilities that were predicted for them."""


def auc(outcomes: Floats, scores: Floats) -> float:
    """Return the share of (success, failure) pairs in which the success has the higher score; ties count one half.

    A success is an outcome of at least 0.5. NaN where one class is missing.
    """
    hard = outcomes >= 0.5
    positives, negatives = int(hard.sum()), int((~hard).sum())
    if not positives or not negatives:
        return float("nan")
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[place]  # equal scores share their mean rank
    return float((ranks[hard].sum() - positives * (positives + 1) / 2.0) / (positives * negatives))


def intra_context_auc(keys: Sequence[Labelled]) -> float:
    """Return the mean AUC within keys, weighted by their rows; keys with one class are left out. NaN without keys."""
    each = np.array([(auc(outcomes, scores), len(outcomes)) for outcomes, scores in keys]).reshape(-1, 2)
    known = each[~np.isnan(each[:, 0])]
    return float(np.average(known[:, 0], weights=known[:, 1])) if len(known) else float("nan")


def calibration_error(outcomes: Floats, p: Floats, bins: int = 10) -> float:
    """Return the expected calibration error: |mean outcome - mean p| of bins of equal width, weighted by their rows."""
    which = np.minimum((bins * p).astype(np.int64), bins - 1)
    gaps = np.bincount(which, outcomes - p, minlength=bins)
    return float(np.abs(gaps).sum() / len(p))


def flip_ranking(flips: Sequence[Labelled]) -> float:
    """Return the share of rightly ordered pairs of a success and a failure, of one prompt each; ties count one half.

    Each item is a prompt that several checkpoints of a policy were asked. NaN where none of them flipped.
    """
    pairs = rights = 0.0
    for outcomes, scores in flips:
        count = float((outcomes >= 0.5).sum() * (outcomes < 0.5).sum())
        pairs, rights = pairs + count, rights + (count * auc(outcomes, scores) if count else 0.0)
    return rights / pairs if pairs else float("nan")
