"""S6 to S9 over [B, L] arrays with a mask; per-token values are 0 where masked."""

import numpy as np

Array = np.ndarray


def ratio(logp: Array, old: Array) -> Array:
    return np.exp(np.clip(logp - old, -20, 20))


def ppo_clip(logp: Array, old: Array, advantage: Array, low: float = 0.2, high: float = 0.2) -> Array:
    rho = ratio(logp, old)
    return -np.minimum(rho * advantage, np.clip(rho, 1 - low, 1 + high) * advantage)


def ppo_clip_gradient(logp: Array, old: Array, advantage: Array, low: float = 0.2, high: float = 0.2) -> Array:
    rho = ratio(logp, old)
    stopped = ((advantage > 0) & (rho > 1 + high)) | ((advantage < 0) & (rho < 1 - low))
    return np.where(stopped | (np.abs(logp - old) > 20), 0.0, -rho * advantage)


def dual_clip(logp: Array, old: Array, advantage: Array, low: float = 0.2, high: float = 0.2, c: float = 3.0) -> Array:
    clipped = ppo_clip(logp, old, advantage, low, high)
    return np.where(advantage < 0, np.minimum(-c * advantage, clipped), clipped)


def tis(old: Array, sampled: Array, mask: Array, cap: float, sequence: bool) -> Array:
    difference = np.where(mask, old - sampled, 0.0)
    if sequence:
        difference = np.broadcast_to(difference.sum(axis=1, keepdims=True), mask.shape)
    return np.where(mask, np.minimum(np.exp(np.clip(difference, -20, 20)), cap), 0.0)


def icepop(old: Array, sampled: Array, mask: Array, low: float = 0.5, high: float = 5.0) -> Array:
    weight = np.exp(np.clip(old - sampled, -20, 20))
    return np.where(mask & (weight >= low) & (weight <= high), weight, 0.0)


def masked(
    old: Array, sampled: Array, mask: Array, low: float = 0.5, high: float = 5.0, product: bool = False
) -> Array:
    out = np.zeros(mask.shape)
    for row in range(len(mask)):
        logs = (old - sampled)[row][mask[row]]
        value = np.exp(np.clip(logs.sum() if product else logs.mean(), -20, 20))
        out[row] = float(low <= value <= high)
    return out * mask


def kl(logp: Array, reference: Array, estimator: str) -> Array:
    d = np.clip(reference - logp, -20, 20)
    return {"k1": -d, "k2": d**2 / 2, "k3": np.clip(np.exp(d) - 1 - d, -10, 10)}[estimator]


def aggregate(values: Array, mask: Array, how: str, horizon: float = 1.0) -> float:
    """A row is a trajectory; for turn-mean it is a turn, for prompt-mean the only trajectory of its group."""
    if how == "token-mean":
        return float(values[mask].sum() / mask.sum())
    if how == "token-sum":
        return float(values[mask].sum())
    rows = [values[row][mask[row]] for row in range(len(mask)) if mask[row].any()]
    per_row = [row.mean() if how in ("seq-mean-token-mean", "turn-mean", "prompt-mean") else row.sum() for row in rows]
    mean = float(np.mean(per_row))
    return mean / horizon if how == "seq-mean-token-sum-norm" else mean
