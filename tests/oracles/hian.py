"""HIAN: a session is (group, outcome, turns), a turn (reward, tokens); A of each turn that has tokens, in order.

`statistics` is what a turn is compared with: group, per_position or batch.
"""

import math


def _score(value: float, among: list[float], eps: float) -> float:
    if max(among) - min(among) <= 1e-8:
        return 0.0
    mean = sum(among) / len(among)
    std = math.sqrt(sum((other - mean) ** 2 for other in among) / len(among))
    return (value - mean) / (std + eps)


def returns(turns, gamma):
    out = []
    for t in range(len(turns)):
        out.append(sum(gamma ** (s - t) * turns[s][0] for s in range(t, len(turns))))
    return out


def _among(sessions, i, t, gamma, statistics):
    """The returns that turn t of session i is compared with."""
    alone = sum(other[0] == sessions[i][0] for other in sessions) == 1
    same, position, everything = [], [], []
    for group, _, turns in sessions:
        for s, value in enumerate(returns(turns, gamma)):
            if turns[s][1] == 0:
                continue
            everything.append(value)
            if group == sessions[i][0]:
                same.append(value)
                if s == t:
                    position.append(value)
    if statistics == "batch" or alone:
        return everything
    return position if statistics == "per_position" and len(position) >= 4 else same


def hian(sessions, w_sess=1.0, w_turn=1.0, gamma=0.0, statistics="group", eps=1e-6):
    out = []
    for i, (group, outcome, turns) in enumerate(sessions):
        session = _score(outcome, [other[1] for other in sessions if other[0] == group], eps)
        for t, value in enumerate(returns(turns, gamma)):
            if turns[t][1]:
                among = _among(sessions, i, t, gamma, statistics)
                out.append(w_sess * session + w_turn * _score(value, among, eps))
    return out


def ramp(step, total, start=0.1, end=1.0, share=0.5):
    return start + (end - start) * min(1.0, step / (share * total))


def jaccard_penalty(turn, earlier, n=4):
    def grams(tokens):
        return [tuple(tokens[k:k + n]) for k in range(len(tokens) - n + 1)]
    best = 0.0
    for other in earlier:
        mine, theirs = set(grams(turn)), set(grams(other))
        if mine and theirs:
            best = max(best, len(mine & theirs) / len(mine | theirs))
    return -max(0.0, (best - 0.3) / 0.7)


def repeated_share(session, n=4):
    hits = total = 0
    for t in range(1, len(session)):
        for k in range(len(session[t]) - n + 1):
            gram = list(session[t][k:k + n])
            total += 1
            hits += any(gram == list(old[j:j + n]) for old in session[:t] for j in range(len(old) - n + 1))
    return hits / total if total else 0.0
