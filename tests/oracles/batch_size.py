"""Batch-size schedules over samples, the scaling law by quadrature, the planner by normal equations. Plain loops."""

import math

import numpy as np

Array = np.ndarray


def batches(stages: list[tuple[int, int]], budget: int, start: int = 0) -> list[int]:
    """Sizes of all batches from `start` on; `stages` are (until, size), the last one holds to the end."""
    sizes, taken = [], start
    while taken < budget:
        size = stages[-1][1]
        for until, own in reversed(stages):
            if taken < until:
                size = own
        size = min(size, budget - taken)
        sizes.append(size)
        taken += size
    return sizes


def fsl_lengths(small: int, large: int, beta: float, budget: int, eta: float, growth: float) -> list[float]:
    """Return the samples of the levels j = 0, 1, ..., not rounded. U is found by bisection."""
    sizes = [small]
    while 2 * sizes[-1] <= large:
        sizes.append(2 * sizes[-1])

    def lengths(scale: float) -> list[float]:
        remaining = [0.0] + [
            max(0.0, scale * 2.0 ** (-(j - 1) / (1 - 1 / (2 * beta))) - 1) for j in range(1, len(sizes))] + [0.0]
        return [sizes[j] * (remaining[j] - remaining[j + 1]) / eta for j in range(1, len(sizes))]

    if len(sizes) == 1:
        return [float(budget)]
    low, high = 1.0, 2.0
    while sum(lengths(high)) < growth * budget:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(lengths(middle)) < growth * budget else (low, middle)
    grown = lengths(high)
    return [budget - growth * budget, *grown]


def kernel(u: Array, beta: float) -> Array:
    return (1 + u) ** -(2 - 1 / beta)


def kappa(a: float, b: float, beta: float) -> float:
    """Return the integral of the kernel from a to b, by the midpoint rule in log(1 + u)."""
    edges = np.linspace(math.log(1 + a), math.log(1 + b), 20001)
    middles = (edges[1:] + edges[:-1]) / 2
    return float(np.sum(kernel(np.exp(middles) - 1, beta) * np.exp(middles) * np.diff(edges)))


def two_stage(switch: float, budget: float, small: int, large: int, s: float, beta: float, eta: float, sigma: float
              ) -> float:
    last = eta * (budget - switch) / large
    total = eta * switch / small + last
    noise = kappa(0, last, beta) / large + kappa(last, total, beta) / small
    return (1 + total) ** -s + eta * sigma**2 * noise


def excess_risk(stages: list[tuple[float, int]], s: float, beta: float, eta: float, sigma: float) -> float:
    """Stages are (intrinsic time, size). The integral over t by the midpoint rule, points dense at both ends."""
    total = sum(length for length, _ in stages)
    half = np.geomspace(1e-9, total / 2, 20001)
    noise, begin = 0.0, 0.0
    for length, size in stages:
        edges = np.unique(np.clip(np.concatenate([[0, total], half, total - half]), begin, begin + length))
        t = (edges[1:] + edges[:-1]) / 2
        noise += float(np.sum(kernel(total - t, beta) * ((1 + t) ** -s + sigma**2) * np.diff(edges))) / size
        begin += length
    return float((1 + total) ** -s + eta * noise)


def best_tail(rows: Array, loss: Array) -> float:
    """D - P* of one budget from D - P of its pilots, in ascending order, best inside the grid: a fitted parabola."""
    best = int(np.argmin(loss))
    x = np.log(rows[best - 1:best + 2])
    a, b, _ = np.polyfit(x - x[1], loss[best - 1:best + 2], 2)
    return float(np.exp(x[1] - b / (2 * a)))


def prediction(budgets: list[int], tails: list[float], budget: float) -> tuple[float, float, float]:
    """D - P* at a budget and its band, before clipping."""
    design = np.array([[1.0, math.log(each)] for each in budgets])
    target = np.log(tails)
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ target
    residual = target - design @ coefficients
    variance = float(residual @ residual) / (len(budgets) - 2)
    new = np.array([1.0, math.log(budget)])
    middle, error = float(new @ coefficients), math.sqrt(variance * (1 + float(new @ inverse @ new)))
    return math.exp(middle), math.exp(middle - 2 * error), math.exp(middle + 2 * error)
