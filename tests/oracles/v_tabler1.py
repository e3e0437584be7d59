"""V-tableR1 on one chain, one row or one pool at a time."""

from typing import Any

import numpy as np


def process_score(steps: list[float], how: str) -> float:
    if not steps:
        return 0.0
    if how == "min":
        return sorted(steps)[0]
    if how == "mean":
        return sum(steps) / len(steps)
    product = 1.0
    for score in steps:
        product = product * score
    return product ** (1 / len(steps))


def reward(accuracy: float, form: float, process: float, mode: str) -> float:
    rules = 0.9 * accuracy + 0.1 * form
    if mode == "additive":
        return rules + 1.0 * process
    if mode == "threshold" and process >= 0.5:
        return rules
    return process * rules


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def length_band(rewards: list[list[float | None]], lengths: list[float], pool_minimum: int = 20) -> list[bool]:
    informative = []
    for place, group in enumerate(rewards):
        known = [r for r in group if r is not None]
        if known and max(known) - min(known) > 1e-8:
            informative.append(place)
    pool = [lengths[place] for place in informative]
    out = [False] * len(rewards)
    for place in informative:
        low, high, longest = (quantile(pool, share) for share in (0.30, 0.65, 0.95))
        length, slack = lengths[place], 1e-9
        short = length <= low + slack * abs(low)
        long = high - slack * abs(high) <= length <= longest + slack * abs(longest)
        out[place] = len(pool) < pool_minimum or short or long
    return out


def step_credit(advantage: np.ndarray, row: np.ndarray, segment: np.ndarray, score: np.ndarray, c: float) -> np.ndarray:
    """Token by token; `row` is the token's trajectory."""
    out = advantage.copy()
    for t in range(len(advantage)):
        if segment[t] >= 0:
            mine = {int(segment[u]) for u in range(len(row)) if row[u] == row[t] and segment[u] >= 0}
            mean = sum(score[j] for j in mine) / len(mine)
            out[t] = advantage[t] * (1 + c * (score[segment[t]] - mean))
    return out


def _number(text: str) -> float | None:
    for sign in "$€£¥%,":
        text = text.replace(sign, "")
    try:
        return float(text.strip())
    except ValueError:
        return None


def _same(a: str, b: str) -> bool:
    x, y = _number(a), _number(b)
    return x == y if x is not None and y is not None else a.lower().split() == b.lower().split()


def _near(found: float | None, wanted: float) -> bool:
    return found is not None and abs(found - wanted) <= 1e-4 * abs(wanted)


def _recomputed(table: list[list[str]], op: str, cells: list[tuple[int, int, str]], result: str) -> bool:
    """Check 3."""
    texts = [value for _, _, value in cells]
    values = [number for text in texts if (number := _number(text)) is not None]
    found, numeric = _number(result), len(values) == len(texts)
    if op == "lookup":
        near = _near(found, values[0]) if values and found is not None else _same(texts[0], result)
        return len(cells) == 1 and near
    if op == "count":
        return _near(found, len(cells))
    if op == "filter":
        parts = result.split("|")
        return len(parts) == len(texts) and all(_same(a, b) for a, b in zip(parts, texts, strict=True))
    if numeric and op in ("argmax", "argmin"):
        place = values.index(max(values) if op == "argmax" else min(values))
        return any(_same(text, result) for text in table[cells[place][0]])
    if not numeric or (op != "sum" and len(cells) != 2):
        return False
    order = "<" if values[0] < values[-1] else "=" if values[0] == values[-1] else ">"
    wanted = {"sum": sum(values), "diff": values[0] - values[-1], "ratio": values[0] / (values[-1] or np.nan)}
    return result == order if op == "compare" else op in wanted and _near(found, wanted[op])


def critic(table: list[list[str]], chain: list[dict[str, Any]], answer: str) -> list[float]:
    """Steps as {op, cells: [(row, column, value)], result}."""
    out = []
    for j, step in enumerate(chain):
        later = chain[j + 1:]
        used = _same(step["result"], answer)
        for other in later:
            used = used or any(_same(value, step["result"]) for _, _, value in other["cells"])
            used = used or (other["op"] == "conclude" and _same(other["result"], step["result"]))
        real = all(0 <= r < len(table) and 0 <= c < len(table[r]) for r, c, _ in step["cells"])
        if step["op"] == "conclude":
            grounded = any(_same(earlier["result"], step["result"]) for earlier in chain[:j])
            out.append((1 + used) / 2 if grounded and real else 0.0)
        elif not step["cells"] or not real:
            out.append(0.0)
        else:
            quoted = all(_same(value, table[r][c]) for r, c, value in step["cells"])
            out.append((1 + quoted + _recomputed(table, step["op"], step["cells"], step["result"]) + used) / 4)
    return out
