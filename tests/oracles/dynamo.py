"""DynaMO, part 2, over [B, L] arrays with a mask; A_final is 0 where masked."""

import math

import numpy as np

Array = np.ndarray


def tokens_of(values: Array, mask: Array) -> list[float]:
    return [float(values[place]) for place in zip(*np.nonzero(mask), strict=True)]


def compensation(advantage: Array, entropy: Array, mask: Array, alpha_c: float) -> Array:
    seen = tokens_of(entropy, mask)
    top, bottom = max(seen), min(seen)
    out = np.ones(mask.shape)
    for place in zip(*np.nonzero(mask), strict=True):
        if advantage[place] > 0 and top - bottom > 1e-8:
            out[place] = 1 + alpha_c * (top - entropy[place]) / (top - bottom)
    return out


def entropy_change(
    advantage: Array, logp: Array, old: Array, entropy: Array, mask: Array, expected: Array | None,
    low: float = 0.2, high: float = 0.2,
) -> Array:
    """`expected` left out: the row's mean of p * Lam."""
    out = np.zeros(mask.shape)
    for row in range(len(mask)):
        places = [t for t in range(mask.shape[1]) if mask[row, t]]
        product = {t: math.exp(logp[row, t]) * (logp[row, t] + entropy[row, t]) for t in places}
        for t in places:
            rho, a = math.exp(min(max(logp[row, t] - old[row, t], -20), 20)), advantage[row, t]
            flows = (a > 0 and rho <= 1 + high) or (a < 0 and rho >= 1 - low)
            mean = sum(product.values()) / len(product) if expected is None else expected[row, t]
            out[row, t] = -(rho * a if flows else 0.0) * (product[t] - mean)
    return out


def stabilisation(swing: Array, mask: Array, floor: float, kappa: float, tau: float, xi_norm: str) -> Array:
    """`swing`: Xi."""
    seen = sorted(tokens_of(swing, mask))
    out = np.ones(mask.shape)
    if seen[-1] == 0:
        return out
    place = 0.99 * (len(seen) - 1)
    below, above = seen[math.floor(place)], seen[math.ceil(place)]
    scale = seen[-1] if xi_norm == "max" else below + (place - math.floor(place)) * (above - below)
    for at in zip(*np.nonzero(mask), strict=True):
        x = min(1.0, swing[at] / scale) if scale else float(swing[at] > 0)
        out[at] = floor + (1 - floor) / (1 + math.exp(kappa * (x - tau)))
    return out


def modulate(
    advantage: Array, logp: Array, old: Array, entropy: Array, mask: Array, expected: Array | None = None,
    alpha_c: float = 0.2, floor: float = 0.6, kappa: float = 50.0, tau: float = 0.99, xi_norm: str = "max",
) -> Array:
    swing = np.abs(entropy_change(advantage, logp, old, entropy, mask, expected))
    factor = compensation(advantage, entropy, mask, alpha_c) * stabilisation(swing, mask, floor, kappa, tau, xi_norm)
    return np.where(mask, advantage * factor, 0.0)
