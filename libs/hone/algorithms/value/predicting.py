"""Predictions of V0 about prompts, for any kind of context, and whether they may be used."""

from dataclasses import dataclass

import numpy as np

from hone.algorithms.inputs import Floats
from hone.algorithms.value.denoising import clustered
from hone.algorithms.value.heads import HEADS, RidgeWeights, widened

CONTEXT_ROWS = 256
"""Most rows of a context: the newest prompts."""
FEWEST_ROWS = 50
"""Rows below which predictions are not reliable."""
OLDEST_STEPS = 8
"""Steps of the learner, inclusive, after which an outcome says too little about the policy."""


@dataclass(frozen=True)
class Predicted:
    """Success of Q prompts."""

    logits: Floats  # [Q]
    unreliable: str = ""  # why a caller should use 0.5 instead; "": it need not

    @property
    def p(self) -> Floats:
        """Probabilities, [Q]."""
        return sigmoid(self.logits)


def labels(means: Floats, lowest: float, highest: float) -> Floats:
    """Return mean scores [S] on the scale from 0 to 1 of a grader's range; NaN stays. Raises ValueError."""
    if not (np.isfinite([lowest, highest]).all() and lowest < highest):
        raise ValueError(f"expected a finite lowest score below the highest, found {lowest:g} and {highest:g}")
    return np.clip((means - lowest) / (highest - lowest), 0.0, 1.0)


def predict(
    context: Floats, outcomes: Floats, queries: Floats, head: str, weights: RidgeWeights, clusters: int = 0
) -> Predicted:
    """Return the success of queries [Q, F] by context features [S, F] and outcomes [S] from 0 to 1.

    Rows whose outcome is no number are left out. Without rows p is 0.5. An outcome of at least 0.5 is a success: where
    all are, or none, p is (successes + 1) / (S + 2) for all queries. Both are unreliable, as are less than 50 rows. The
    head is fitted to the outcomes as they are: half of a few samples would raise p if it were a success.
    A context of more rows than `clusters` is denoised to so many, if that is not 0.
    """
    known = np.isfinite(outcomes)
    size, positives = int(known.sum()), float((outcomes[known] >= 0.5).sum())
    if not size:
        return Predicted(np.zeros(len(queries)), "the policy has no outcomes yet")
    if positives in (0.0, float(size)):
        share = np.log(positives + 1.0) - np.log(size - positives + 1.0)
        kind = "fail" if positives == 0 else "succeed"
        return Predicted(np.full(len(queries), share), f"all {size} outcomes of the policy {kind}")
    rows, means = clustered(context[known], outcomes[known], clusters or size)
    rows, asked = widened(rows, queries)
    logits = HEADS[head](rows, means, asked, weights)
    few = f"{size} prompts with an outcome, expected at least {FEWEST_ROWS}" if size < FEWEST_ROWS else ""
    return Predicted(logits, few)


def sigmoid(scores: Floats) -> Floats:
    """Return 1 / (1 + exp(-s)) without overflow."""
    small = np.exp(-np.abs(scores))
    return np.where(scores >= 0, 1.0, small) / (1.0 + small)
