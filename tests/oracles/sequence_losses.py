"""S7: GSPO, CISPO and SAPO over [B, L] arrays with a mask; a row is a sequence, values are 0 where masked.

`anchor` is the logp at which everything without gradient is evaluated; left out, it is logp itself.
"""

import numpy as np

Array = np.ndarray


def _ratio(difference: float) -> float:
    return float(np.exp(min(max(difference, -20.0), 20.0)))


def sequence_ratio(logp: Array, old: Array, mask: Array, row: int) -> float:
    differences = [logp[row, t] - old[row, t] for t in range(mask.shape[1]) if mask[row, t]]
    return _ratio(sum(differences) / len(differences))


def gspo(
    logp: Array, old: Array, advantage: Array, mask: Array, low: float = 3e-4, high: float = 4e-4,
    anchor: Array | None = None,
) -> Array:
    out, anchor = np.zeros(mask.shape), logp if anchor is None else anchor
    for row, t in zip(*np.nonzero(mask), strict=True):
        s = sequence_ratio(anchor, old, mask, row) * np.exp(logp[row, t] - anchor[row, t])
        bounded = min(max(s, 1 - low), 1 + high)
        out[row, t] = -min(s * advantage[row, t], bounded * advantage[row, t])
    return out


def gspo_sequence(
    logp: Array, old: Array, advantage: Array, mask: Array, low: float = 3e-4, high: float = 4e-4
) -> float:
    """The objective of the paper, one advantage for each row: mean over rows of one clipped term each."""
    terms = []
    for row in range(len(mask)):
        s = sequence_ratio(logp, old, mask, row)
        terms.append(-min(s * advantage[row], min(max(s, 1 - low), 1 + high) * advantage[row]))
    return float(np.mean(terms))


def gspo_gradient(
    logp: Array, old: Array, advantage: Array, mask: Array, low: float = 3e-4, high: float = 4e-4
) -> Array:
    out = np.zeros(mask.shape)
    for row, t in zip(*np.nonzero(mask), strict=True):
        s, a = sequence_ratio(logp, old, mask, row), advantage[row, t]
        if not (a > 0 and s > 1 + high) and not (a < 0 and s < 1 - low):
            out[row, t] = -s * a
    return out


def cispo(
    logp: Array, old: Array, advantage: Array, mask: Array, cap: float = 5.0, floor: float = 0.0,
    anchor: Array | None = None,
) -> Array:
    out, anchor = np.zeros(mask.shape), logp if anchor is None else anchor
    for place in zip(*np.nonzero(mask), strict=True):
        weight = max(floor, min(_ratio(anchor[place] - old[place]), cap))
        out[place] = -weight * advantage[place] * logp[place]
    return out


def sapo(
    logp: Array, old: Array, advantage: Array, mask: Array, tau_pos: float = 1.0, tau_neg: float = 1.05
) -> Array:
    out = np.zeros(mask.shape)
    for place in zip(*np.nonzero(mask), strict=True):
        tau = tau_pos if advantage[place] > 0 else tau_neg
        x = tau * (_ratio(logp[place] - old[place]) - 1)
        out[place] = -4 / tau / (1 + np.exp(-x)) * advantage[place]
    return out
