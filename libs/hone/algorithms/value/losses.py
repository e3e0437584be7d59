"""Losses of V0's adapter over a chunk of scores (log-odds). Numpy arrays, or tensors with `xp` torch.

Most of what an outcome tells is the policy's average, which the context gives away. It adds the same to every score
of an episode and cancels in a pair's difference: only knowledge of the prompt lowers the pairwise loss. Cross-entropy
keeps scores calibrated.
"""

from typing import Any

import numpy as np

MIX = 0.25
"""Weight of the pairwise loss."""


def pairwise(scores: Any, xp: Any = np) -> Any:
    """Return mean(-log sigmoid(s+ - s-)) over a chunk [s+, s-, s+, s-, …]."""
    gaps = scores[1::2] - scores[0::2]
    return xp.logaddexp(xp.zeros_like(gaps), gaps).mean()


def soft_cross_entropy(scores: Any, labels: Any, xp: Any = np, weights: Any = None) -> Any:
    """Return mean(y softplus(-s) + (1 - y) softplus(s)), each item times its weight; [B] scores and labels."""
    nothing = xp.zeros_like(scores)
    each = labels * xp.logaddexp(nothing, -scores) + (1.0 - labels) * xp.logaddexp(nothing, scores)
    return (each if weights is None else each * weights).mean()


def combined(scores: Any, labels: Any, mix: float = MIX, xp: Any = np, weights: Any = None) -> Any:
    """Return mix * pairwise + (1 - mix) * cross-entropy over a chunk of pairs. Raises ValueError for half a pair."""
    if len(scores) % 2:
        raise ValueError(f"scores: found {len(scores)}, expected pairs")
    return mix * pairwise(scores, xp) + (1.0 - mix) * soft_cross_entropy(scores, labels, xp, weights)
