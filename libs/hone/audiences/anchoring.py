"""The reasoner's probabilities, drawn towards what decision policies measured. A reconstruction: arXiv 2604.15190."""

import numpy as np

from hone.audiences.columns import Floats

LEAST, MOST = 0.005, 0.995
"""Bounds of a reasoner's probability before its logit is taken."""
CAP = 500.0
"""Most support that counts, in exposures."""


def logit(p: Floats) -> Floats:
    """Return log(p / (1 - p))."""
    return np.asarray(np.log(p) - np.log1p(-p))


def sigmoid(x: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)), without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))


def weight(support: Floats, kappa: float = 50.0) -> Floats:
    """Return the reasoner's weight by the evidence's support [...]: 1 without evidence, less with more of it."""
    return np.asarray(kappa / (kappa + np.minimum(support, CAP)))


def anchored(q: Floats, evidence: Floats, share: Floats | float) -> Floats:
    """Return sigmoid(share x logit q + (1 - share) x logit evidence), elementwise, all of one shape.

    `q` are a reasoner's probabilities, clipped to LEAST and MOST; `share` is the reasoner's weight, from 0 to 1.
    """
    clipped = logit(np.clip(q, LEAST, MOST))
    return sigmoid(share * clipped + (1.0 - np.asarray(share)) * logit(np.clip(evidence, LEAST, MOST)))
