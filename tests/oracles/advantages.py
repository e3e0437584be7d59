"""S4 over rows b = 0 … B-1 with returns R[b], groups g[b] and a mask[b, t]; returns A[b, t], 0 where masked."""

import numpy as np

Array = np.ndarray


def _same(reward: Array, group: Array, row: int) -> Array:
    return np.array([reward[other] for other in range(len(reward)) if group[other] == group[row]])


def _flat(values: Array) -> bool:
    return bool(max(values) - min(values) <= 1e-8)


def grpo(reward: Array, group: Array, mask: Array, ddof: int = 1, eps: float = 1e-6) -> Array:
    out = np.zeros(mask.shape)
    for row in range(len(reward)):
        same = _same(reward, group, row)
        if not _flat(same):
            mean = sum(same) / len(same)
            std = np.sqrt(sum((same - mean) ** 2) / (len(same) - ddof))
            out[row] = (reward[row] - mean) / (std + eps)
    return out * mask


def dr_grpo(reward: Array, group: Array, mask: Array) -> Array:
    out = np.zeros(mask.shape)
    for row in range(len(reward)):
        same = _same(reward, group, row)
        if not _flat(same):
            out[row] = reward[row] - sum(same) / len(same)
    return out * mask


def rloo(reward: Array, group: Array, mask: Array) -> Array:
    """Groups of at least two."""
    out = np.zeros(mask.shape)
    for row in range(len(reward)):
        others = [reward[o] for o in range(len(reward)) if group[o] == group[row] and o != row]
        if not _flat(_same(reward, group, row)):
            out[row] = reward[row] - sum(others) / len(others)
    return out * mask


def _whiten(values: Array, mask: Array, ddof: int) -> Array:
    picked = values[mask]
    if _flat(picked):
        return np.zeros(mask.shape)
    mean = picked.sum() / picked.size
    variance = ((picked - mean) ** 2).sum() / (picked.size - ddof)
    return np.where(mask, (values - mean) / np.sqrt(variance + 1e-8), 0.0)


def reinforce_pp_returns(reward: Array, mask: Array, kl: Array, beta: float, gamma: float) -> Array:
    rows, length = mask.shape
    returns = np.zeros(mask.shape)
    for row in range(rows):
        last = max(t for t in range(length) if mask[row, t])
        ahead = 0.0
        for t in reversed(range(length)):
            if mask[row, t]:
                ahead = (reward[row] if t == last else 0.0) - beta * kl[row, t] + gamma * ahead
                returns[row, t] = ahead
    return returns


def reinforce_pp(reward: Array, mask: Array, kl: Array, beta: float, gamma: float, ddof: int = 0) -> Array:
    return _whiten(reinforce_pp_returns(reward, mask, kl, beta, gamma), mask, ddof)


def reinforce_pp_baseline(reward: Array, group: Array, mask: Array, ddof: int = 0) -> Array:
    out = _whiten(dr_grpo(reward, group, mask), mask, ddof)
    for row in range(len(reward)):
        if _flat(_same(reward, group, row)):
            out[row] = 0.0
    return out
