"""GiGPO over trajectories i with step rewards r[i][t], observation texts o[i][t] and groups g[i]; returns A[i][t]."""

Ragged = list[list[float]]


def _f(value: float, pool: list[float], normalised: bool, eps: float) -> float:
    if max(pool) - min(pool) <= 1e-8:
        return 0.0
    mean = sum(pool) / len(pool)
    if not normalised:
        return value - mean
    return (value - mean) / ((sum((x - mean) ** 2 for x in pool) / (len(pool) - 1)) ** 0.5 + eps)


def step_returns(reward: Ragged, gamma: float) -> Ragged:
    return [[sum(gamma ** (u - t) * row[u] for u in range(t, len(row))) for t in range(len(row))] for row in reward]


def gigpo(
    reward: Ragged, seen: list[list[str]], group: list[int], gamma: float = 0.95, omega: float = 1.0,
    normalised: bool = False, cross_step: bool = False, eps: float = 1e-6,
) -> Ragged:
    ahead, out = step_returns(reward, gamma), []
    for i in range(len(reward)):
        mates = [j for j in range(len(reward)) if group[j] == group[i]]
        episodes = [sum(reward[j]) for j in mates for _ in range(len(reward[j]) if cross_step else 1)]
        episode = _f(sum(reward[i]), episodes, normalised, eps)
        row = []
        for t in range(len(reward[i])):
            anchor = [ahead[j][u] for j in mates for u in range(len(reward[j])) if seen[j][u] == seen[i][t]]
            row.append(episode + omega * _f(ahead[i][t], anchor, normalised, eps))
        out.append(row)
    return out
