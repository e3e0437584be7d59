"""HeavySkill over sequences (key, kind, reward, tokens), by brute force."""

import itertools
import math


def advantages(sequences, kind, eps=1e-6):
    """Return each token's A in the stage `kind`, None for a token of another stage."""
    out = []
    for key, own, reward, tokens in sequences:
        value = None
        if own == kind and not math.isnan(reward):
            same = [row[2] for row in sequences
                    if row[0] == key and row[1] == kind and row[3] and not math.isnan(row[2])]
            value = 0.0
            if same and max(same) - min(same) > 1e-8:
                mean = sum(same) / len(same)
                value = (reward - mean) / (math.sqrt(sum((other - mean) ** 2 for other in same) / len(same)) + eps)
        out += [value] * tokens
    return out


def kept(lengths, budget):
    if sum(lengths) <= budget:
        return list(lengths)
    level = 0
    while sum(min(length, level + 1) for length in lengths) <= budget:
        level += 1
    return [min(length, level) for length in lengths]


def pass_at(correct, k):
    """Return the share of the k-subsets of attempts that hold at least one correct attempt."""
    subsets = list(itertools.combinations(correct, k))
    return sum(any(subset) for subset in subsets) / len(subsets)


def vote(answers, right):
    counted = [answer for answer in answers if answer is not None]
    if not counted:
        return 0.0
    top = max(counted.count(answer) for answer in counted)
    tied = [answer for answer in sorted(set(counted)) if counted.count(answer) == top]
    return sum(answer == right for answer in tied) / len(tied)


def consensus(attempts, k):
    """attempts: (id, answer, length); one at a time, the best of those left."""
    out: list[int] = []
    left = list(attempts)
    size = {attempt[0]: sum(other[1] == attempt[1] for other in attempts) for attempt in attempts}
    for _ in range(k):
        best = left[0]
        for other in left[1:]:
            if (-size[other[0]], other[2], other[0]) < (-size[best[0]], best[2], best[0]):
                best = other
        left.remove(best)
        out.append(best[0])
    return out


def diverse(attempts, k):
    clusters: dict[str | None, list[int]] = {}
    for attempt in sorted(attempts, key=lambda each: (each[2], each[0])):
        clusters.setdefault(attempt[1], []).append(attempt[0])
    size = {answer: len(ids) for answer, ids in clusters.items()}
    order = sorted(clusters, key=lambda answer: (-size[answer], min(clusters[answer])))
    out: list[int] = []
    while len(out) < k:
        for answer in order:
            if clusters[answer] and len(out) < k:
                out.append(clusters[answer].pop(0))
    return out
