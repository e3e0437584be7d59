"""GAE over rows b with values V[b, t], rewards r[b, t] and a mask[b, t], token by token from the end; else 0."""

import numpy as np

Array = np.ndarray


def rewards(outcome: Array, mask: Array, turns: list[list[tuple[int, int, float]]]) -> Array:
    """The outcome at each row's last unmasked token; (start, end, reward) of a turn at the turn's last unmasked one."""
    out = np.zeros(mask.shape)
    for row in range(len(mask)):
        places = [t for t in range(mask.shape[1]) if mask[row, t]]
        out[row, places[-1]] += outcome[row]
        for start, end, reward in turns[row]:
            inside = [t for t in places if start <= t < end]
            if inside:
                out[row, inside[-1]] += reward
    return out


def raw(reward: Array, values: Array, mask: Array, gamma: float, lam: float) -> tuple[Array, Array]:
    """Return (A, returns) before whitening."""
    advantage, returns = np.zeros(mask.shape), np.zeros(mask.shape)
    for row in range(len(mask)):
        value_next = advantage_next = 0.0
        for t in reversed(range(mask.shape[1])):
            if not mask[row, t]:
                continue
            delta = reward[row, t] + gamma * value_next - values[row, t]
            advantage[row, t] = delta + gamma * lam * advantage_next
            returns[row, t] = advantage[row, t] + values[row, t]
            value_next, advantage_next = values[row, t], advantage[row, t]
    return advantage, returns


def whitened(advantage: Array, mask: Array, ddof: int) -> Array:
    picked = [advantage[b, t] for b, t in zip(*np.nonzero(mask), strict=True)]
    if len(picked) <= ddof or max(picked) - min(picked) <= 1e-8:
        return np.zeros(mask.shape)
    mean = sum(picked) / len(picked)
    variance = sum((a - mean) ** 2 for a in picked) / (len(picked) - ddof)
    return np.where(mask, (advantage - mean) / (variance + 1e-8) ** 0.5, 0.0)


def critic_loss(values: Array, returns: Array, old: Array, clip: float) -> Array:
    out = np.zeros(len(values))
    for t in range(len(values)):
        near = min(max(values[t], old[t] - clip), old[t] + clip)
        out[t] = 0.5 * max((values[t] - returns[t]) ** 2, (near - returns[t]) ** 2)
    return out
