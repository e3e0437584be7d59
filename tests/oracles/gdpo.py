"""GDPO over rows b with rewards R[k, b], active[k, b], groups g[b] and weights w[k]; returns A[b]."""

import numpy as np

Array = np.ndarray


def _score(value: float, pool: list[float], ddof: int, eps: float) -> float:
    if len(pool) < 2 or max(pool) - min(pool) <= 1e-8:
        return 0.0
    mean = sum(pool) / len(pool)
    variance = sum((x - mean) ** 2 for x in pool) / (len(pool) - ddof)
    return (value - mean) / (variance**0.5 + eps)


def gdpo(reward: Array, active: Array, group: Array, weight: Array, ddof: int = 1, eps: float = 1e-6) -> Array:
    kinds, rows = reward.shape
    total = np.zeros(rows)
    silent = [True] * rows
    for b in range(rows):
        for k in range(kinds):
            pool = [reward[k, o] for o in range(rows) if group[o] == group[b] and active[k, o]]
            if active[k, b]:
                total[b] += weight[k] * _score(reward[k, b], pool, ddof, eps)
            silent[b] = silent[b] and (not pool or max(pool) - min(pool) <= 1e-8)
    return np.array([0.0 if silent[b] else _score(total[b], list(total), ddof, eps) for b in range(rows)])
