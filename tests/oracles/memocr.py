"""MemOCR: rollouts are (group, {task: reward}, turns), a task left out being dropped; a turn is (kind, tokens)."""

WEIGHTS = {"std": 1.0, "augM": 0.7, "augQ": 0.3}


def leaf(rollouts, g, task):
    group, rewards, _ = rollouts[g]
    same = [other[1][task] for other in rollouts if other[0] == group and task in other[1]]
    if task not in rewards or max(same) - min(same) <= 1e-8:
        return 0.0
    return rewards[task] - sum(same) / len(same)


def memocr(rollouts, weights=WEIGHTS, weighted_reads=True):
    """A of every token, rollout after rollout."""
    out = []
    for g, (_, rewards, turns) in enumerate(rollouts):
        total = sum(weights[task] for task in rewards)
        draft = sum(weights[task] * leaf(rollouts, g, task) for task in rewards) / total if total else 0.0
        for kind, tokens in turns:
            value = draft
            if kind != "draft":
                task = kind.removeprefix("read_")
                value = leaf(rollouts, g, task) * (weights[task] if weighted_reads else 1.0)
            out += [value] * tokens
    return out
