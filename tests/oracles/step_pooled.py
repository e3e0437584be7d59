"""HIPIF: step scores over trajectories i with outcomes R[i] and process terms p[i][t]; the four rule penalties."""

import re

Ragged = list[list[float]]


def _z(value: float, pool: list[float], eps: float) -> float:
    mean = sum(pool) / len(pool)
    sigma = (sum((x - mean) ** 2 for x in pool) / len(pool)) ** 0.5
    return 0.0 if max(pool) - min(pool) <= 1e-8 or sigma < eps else (value - mean) / (sigma + eps)


def step_pooled(outcome: list[float], process: Ragged, group: list[int], traj_then_step: bool = False,
                eps: float = 1e-6) -> Ragged:
    out = []
    for i in range(len(outcome)):
        mates = [j for j in range(len(outcome)) if group[j] == group[i]]
        terms = [p for j in mates for p in process[j]]
        scores = [outcome[j] + p for j in mates for p in process[j]]
        if len(mates) == 1:
            out.append([0.0] * len(process[i]))
        elif traj_then_step:
            first = _z(outcome[i], [outcome[j] for j in mates], eps)
            out.append([first + _z(p, terms, eps) for p in process[i]])
        else:
            out.append([_z(outcome[i] + p, scores, eps) for p in process[i]])
    return out


def normal_form(text: str) -> str:
    kept = re.sub(r"\bstep\s*:?\s*\d+(\s*(/|of)\s*\d+)?", "", text.lower())
    return re.sub(r"\s+", " ", kept).strip()


def loops(steps: list[tuple[str, str, bool] | None]) -> list[bool]:
    """Steps (action, observation after it, whether it began a subgoal); None: unparsable."""
    out = []
    for t, step in enumerate(steps):
        fired = False
        if step is not None and not step[2]:
            for earlier in reversed(steps[:t]):
                if earlier is None:
                    continue
                fired = fired or (earlier[0] == step[0] and normal_form(earlier[1]) == normal_form(step[1]))
                if earlier[2]:
                    break
        out.append(fired)
    return out


def words_named(names: list[str], subgoal: str) -> set[str]:
    """Names over single words, without numbers, that the words of the subgoal spell, longest first, each word once."""
    words: list[str | None] = [*re.findall(r"[a-z]+|\d+", subgoal.lower())]
    found = set()
    for name in sorted(set(names), key=lambda n: (-len(n), n)):
        parts, t = name.split(), 0
        while t + len(parts) <= len(words):
            if words[t:t + len(parts)] == parts:
                words[t:t + len(parts)] = [None] * len(parts)
                found.add(name)
            t += 1
    return found
