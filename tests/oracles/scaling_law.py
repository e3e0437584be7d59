"""The functional scaling law of SGD with a batch schedule, arXiv 2509.19189 and 2602.14208; constant learning rate.

Intrinsic time is the learning rate times the number of steps. Risks are excess risks over the noiseless optimum. The
law holds for power-law kernel regression in one pass, without the term of the model's size.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from pydantic import Field

from hone.algorithms.inputs import Floats
from hone.algorithms.method import Params

Values: TypeAlias = Any
"""A float, or an array of float64: the law is applied element by element."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_SEARCHES, _GRID = 4, 2001


class ScalingLaw(Params):
    """A task and a learning rate."""

    s: float = Field(gt=0, description="Exponent of the noiseless risk t^-s; hard tasks have a small one.")
    beta: float = Field(gt=1, description="Capacity: the eigenvalues fall as j^-beta.")
    eta: float = Field(0.05, gt=0, description="Learning rate: intrinsic time of one step.")
    sigma: float = Field(1.0, ge=0, description="Standard deviation of the label noise.")
    c1: float = Field(1.0, ge=0, description="Factor of the signal's term.")
    c2: float = Field(1.0, ge=0, description="Factor of the noise's term.")

    def gamma(self) -> float:
        """(s + 1) / (2 - 1/beta): D - P* ~ D^gamma in the hard regime, which is gamma < 1."""
        return (self.s + 1) / (2 - 1 / self.beta)

    def kernel(self, u: Values) -> Values:
        """K(u) = (1 + u)^-(2 - 1/beta), with u the intrinsic time since the noise was added."""
        return (1 + u) ** -(2 - 1 / self.beta)

    def kappa(self, a: Values, b: Values) -> Values:
        """((1 + a)^-q - (1 + b)^-q) / q, q = 1 - 1/beta: the kernel's integral from a to b."""
        q = 1 - 1 / self.beta
        return (1 + a) ** -q * -np.expm1(-q * np.log1p((b - a) / (1 + a))) / q

    def excess_risk(self, stages: Sequence[tuple[float, int]]) -> float:
        """E(T) = c1 (1 + T)^-s + c2 eta integral_0^T K(T - t) [(1 + t)^-s + sigma^2] / B(t) dt.

        `stages`: (length in intrinsic time, rows of a batch), in order.
        """
        ends = np.cumsum([length for length, _ in stages])
        total, begins = float(ends[-1]), np.concatenate([[0.0], ends[:-1]])
        noise = self.sigma**2 * self.kappa(total - ends, total - begins)
        signal = [self._signal_noise(begin, end, total) for begin, end in zip(begins, ends, strict=True)]
        injected = ((noise + signal) / [rows for _, rows in stages]).sum()
        return float(self.c1 * (1 + total) ** -self.s + self.c2 * self.eta * injected)

    def _signal_noise(self, begin: float, end: float, total: float) -> float:
        """Integrate K(T - t) (1 + t)^-s from begin to end.

        The first half is integrated over log(1 + t), the second over log(1 + T - t), where the integrand is smooth.
        """
        middle = min(max(total / 2, begin), end)
        early, early_weights = _logarithmic(begin, middle)
        late, late_weights = _logarithmic(total - end, total - middle)
        return float((early_weights * self.kernel(total - early) * (1 + early) ** -self.s).sum()
                     + (late_weights * self.kernel(late) * (1 + total - late) ** -self.s).sum())

    def two_stage(self, tail: Values, budget: float, small: int, large: int) -> Values:
        """Risk of B_1 until P rows, then B_2, with only sigma^2 kept in the noise; `tail` = D - P, rows.

        c1 (1 + T)^-s + c2 eta sigma^2 [(1/B_1 - 1/B_2) kappa(T_2, T) + kappa(0, T) / B_2],
        T_2 = eta (D - P) / B_2, T = eta P / B_1 + T_2.
        """
        last = self.eta * tail / large
        total = self.eta * (budget - tail) / small + last
        noise = (1 / small - 1 / large) * self.kappa(last, total) + self.kappa(0.0, total) / large
        return self.c1 * (1 + total) ** -self.s + self.c2 * self.eta * self.sigma**2 * noise

    def best_tail(self, budget: float, small: int, large: int) -> float:
        """Return D - P*, rows, of the least two-stage risk; 0 or D where a constant batch is best."""
        low, high = budget * 1e-12, float(budget)
        for _ in range(_SEARCHES):
            tails = np.geomspace(low, high, _GRID)
            best = int(np.argmin(self.two_stage(tails, budget, small, large)))
            low, high = tails[max(best - 1, 0)], tails[min(best + 1, _GRID - 1)]
        ends = [0.0, float(tails[best]), float(budget)]
        return min(ends, key=lambda tail: float(self.two_stage(tail, budget, small, large)))


def _logarithmic(low: float, high: float) -> tuple[Floats, Floats]:
    """Return nodes and weights of the integral over [low, high] in log(1 + u)."""
    start, length = np.log1p(low), np.log1p(high) - np.log1p(low)
    nodes: Floats = np.expm1(start + length * (_NODES + 1) / 2)
    return nodes, _WEIGHTS * length / 2 * (1 + nodes)
