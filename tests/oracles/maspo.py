"""MASPO over [B, L] arrays with a mask: token by token; values are 0 where masked."""

import math
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass
class Constants:
    sigma_base: float = 1.0
    alpha: float = 0.3
    beta_pos: float = 0.03
    beta_neg: float = 0.03
    sigma_high: float = 10.0
    a_low: float = 0.1
    a_high: float = 10.0
    dual_clip_c: float = math.inf


def bounded(value: float, low: float, high: float) -> float:
    return low if value < low else high if value > high else value


def base(logp_old: float, c: Constants) -> float:
    p_old = math.exp(max(logp_old, -60.0))
    return bounded(c.sigma_base / p_old**c.alpha, c.sigma_base, c.sigma_high)


def gate(rho: float, logp_old: float, sign: float, size: float, c: Constants) -> float:
    """`sign`: of the loss's advantage; `size`: |A| of the width's."""
    if sign > 0 and rho > 1:
        width = base(logp_old, c) * bounded(1 + c.beta_pos * size, c.a_low, c.a_high)
    elif sign < 0 and rho < 1:
        width = base(logp_old, c) * bounded(1 / (1 + c.beta_neg * size), c.a_low, c.a_high)
    else:
        return 1.0
    return math.exp(-((rho - 1) ** 2) / (2 * width**2))


def loss(
    logp: Array, old: Array, advantage: Array, mask: Array, c: Constants, unmodulated: Array | None = None,
    anchor: Array | None = None,
) -> Array:
    """`anchor`: the logp at which the gate is evaluated; left out, it is logp itself."""
    anchor = logp if anchor is None else anchor
    out, sizes = np.zeros(mask.shape), np.abs(advantage if unmodulated is None else unmodulated)
    for place in zip(*np.nonzero(mask), strict=True):
        rho, held = (math.exp(bounded(x[place] - old[place], -20.0, 20.0)) for x in (logp, anchor))
        a = float(advantage[place])
        value = -a * gate(held, float(old[place]), a, float(sizes[place]), c) * rho
        out[place] = min(value, -c.dual_clip_c * a) if a < 0 else value
    return out
