"""Statistics that estimators share. numpy, float64. Scores are exactly 0 where all values are equal."""

import numpy as np

from hone.algorithms.inputs import AdvantageInputs, Floats, Ints
from hone.algorithms.method import Metrics

TOLERANCE = 1e-8
"""Values whose max - min is at most this count as equal: their advantage is exactly 0."""

_EPS = 1e-8


def members(group: Ints) -> list[Ints]:
    """Return the indices of each group's trajectories, with groups in order of first appearance."""
    if not len(group):
        return []
    order = np.argsort(group, kind="stable")
    return sorted(np.split(order, np.flatnonzero(np.diff(group[order])) + 1), key=lambda places: int(places[0]))


def varies(values: Floats) -> bool:
    """Return whether `values` differ by more than the tolerance."""
    return bool(np.ptp(values) > TOLERANCE)


def broadcast(values: Floats, tokens: Ints) -> Floats:
    """Return `values` [B] repeated over each trajectory's tokens, [M]."""
    return np.repeat(values, tokens)


def z_score(values: Floats, ddof: int, eps: float) -> Floats:
    """Return (x - mean) / (std + eps) over the values that are not NaN; 0 for NaN and where values do not vary."""
    scores, known = np.zeros(len(values)), ~np.isnan(values)
    among = values[known]
    if len(among) > 1 and varies(among):
        scores[known] = (among - among.mean()) / (among.std(ddof=ddof) + eps)
    return scores


def group_z_score(values: Floats, group: Ints, ddof: int, eps: float) -> Floats:
    """Return the z-score of each value within its group."""
    scores = np.zeros(len(values))
    for places in members(group):
        scores[places] = z_score(values[places], ddof, eps)
    return scores


def whitened(values: Floats, ddof: int) -> Floats:
    """Return (x - m) / sqrt(v + 1e-8) over all `values`; exactly 0 where they do not vary."""
    if len(values) <= ddof or not varies(values):
        return np.zeros(len(values))
    scaled: Floats = (values - values.mean()) / np.sqrt(values.var(ddof=ddof) + _EPS)
    return scaled


def discounted_sums(values: Floats, lengths: Ints, factor: float) -> Floats:
    """Return y_t = x_t + factor y_{t+1} for x = `values`, [M], within runs of these `lengths`, whose sum is M.

    Each pass doubles the number of terms in a sum, so the number of passes is logarithmic in the longest run.
    """
    sums = np.array(values, np.float64)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(sums))
    reach = 1
    while reach < lengths.max(initial=0):
        sums[:-reach] += np.where(left[:-reach] > reach, factor**reach * sums[reach:], 0.0)
        reach *= 2
    return sums


def group_metrics(inputs: AdvantageInputs) -> Metrics:
    """Return the number of groups, of groups without variance, and of groups with a single valid sample."""
    groups = members(inputs.group)
    flat = sum(len(rows) > 1 and not varies(inputs.reward[rows]) for rows in groups)
    return {
        "groups": float(len(groups)),
        "zero_variance_groups": float(flat),
        "single_sample_groups": float(sum(len(rows) == 1 for rows in groups)),
    }
