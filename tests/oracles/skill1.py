"""Skill1: rows are (group, r_util, r_rank, r_dist, turns), a turn (kind, tokens). NaN: the stage was not reached."""

import itertools
import math


def _z(value, among, eps=1e-6):
    among = [other for other in among if not math.isnan(other)]
    if math.isnan(value) or max(among) - min(among) <= 1e-8:
        return 0.0
    mean = sum(among) / len(among)
    return (value - mean) / (math.sqrt(sum((other - mean) ** 2 for other in among) / len(among)) + eps)


def skill1(rows, baseline=None):
    """Return (name of its track, advantage) for each token of every row."""
    out = []
    for group, util, rank, dist, turns in rows:
        same = [row for row in rows if row[0] == group]
        a_util = _z(util, [row[1] for row in same])
        a_dist = _z(dist, [row[3] for row in same])
        a_rank = 0.0 if math.isnan(rank) else rank - (baseline or 0.0)
        table = {"query": ("utilisation", a_util), "play": ("utilisation", a_util),
                 "rerank": ("selection", a_rank), "distill": ("distillation", a_dist)}
        for kind, tokens in turns:
            out += [table[kind]] * tokens
    return out


def rank_mean(rows):
    """Mean NDCG over the rollouts whose rerank has tokens, None without one."""
    found = [row[2] for row in rows
             if not math.isnan(row[2]) and any(kind == "rerank" and tokens for kind, tokens in row[4])]
    return sum(found) / len(found) if found else None


def ndcg(order, utility):
    """order: 0-based; the ideal is searched among all orders."""
    def dcg(places):
        return sum(utility[place] / math.log2(rank + 2) for rank, place in enumerate(places))
    ideal = max(dcg(places) for places in itertools.permutations(range(len(utility))))
    return dcg(order) / ideal if len(utility) >= 2 and ideal >= 1e-8 else 0.0
