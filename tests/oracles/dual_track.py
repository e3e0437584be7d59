"""TRUST-SQL: rows are (group, exec, fmt, schema, tokens, inside), inside[t] is true for tokens before the boundary.

A row without a token before the boundary proposed nothing.
"""

import math


def _z(value, among, bound=10.0, eps=1e-6):
    if math.isnan(value):
        return 0.0
    valid = [other for other in among if not math.isnan(other)]
    if max(valid) - min(valid) <= 1e-8:
        return 0.0
    mean = sum(valid) / len(valid)
    std = math.sqrt(sum((other - mean) ** 2 for other in valid) / len(valid))
    return min(bound, max(-bound, (value - mean) / (std + eps)))


def _paid(row, gated):
    if math.isnan(row[1]):
        return math.nan
    if not any(row[5]):
        return 0.0
    return row[3] if row[1] == 1 or not gated else 0.0


def dual_track(rows, gated=True):
    """Return each row's A of the full and of the schema track."""
    full, schema = [], []
    for row in rows:
        same = [other for other in rows if other[0] == row[0]]
        full.append(_z(row[1] + row[2], [other[1] + other[2] for other in same]))
        schema.append(_z(_paid(row, gated), [_paid(other, gated) for other in same]))
    return full, schema


def coefficients(rows, weight, gated=True):
    """Factor of grad logp in -grad L at rho = 1 for each token of each row, before the mean over rows."""
    out = []
    for row, full, schema in zip(rows, *dual_track(rows, gated), strict=True):
        inside = row[5]
        for flag in inside:
            out.append(full / len(inside) + (weight * schema / sum(inside) if flag else 0.0))
    return out


def schema_score(tables, gold_tables, columns, gold_columns, mode):
    """Lists of lower-case names."""
    def counts(predicted, gold):
        hits = len([name for name in gold if name in predicted])
        precision = hits / len(predicted) if predicted else (0.0 if gold else 1.0)
        recall = hits / len(gold) if gold else 1.0
        if predicted and not gold:
            precision = 0.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
        return {"precision": precision, "recall": recall, "f1": f1}
    table, column = counts(tables, gold_tables), counts(columns, gold_columns)
    if mode == "exact":
        return float(sorted(tables) == sorted(gold_tables) and sorted(columns) == sorted(gold_columns))
    if mode in table:
        return 0.4 * table[mode] + 0.6 * column[mode]
    if table["recall"] < 1 or column["recall"] < 1:
        return 0.0
    value = 0.4 * table["precision"] + 0.6 * column["precision"]
    if mode == "recall_then_precision":
        return value
    steps = [(1.0, 1.0), (0.9, 0.8), (0.8, 0.6), (0.7, 0.4), (0.6, 0.2)]
    return next((paid for least, paid in steps if value >= least - 1e-9), 0.1)
