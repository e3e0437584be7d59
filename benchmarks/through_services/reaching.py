"""Rollouts to a target: where a smoothed learning curve first reaches an accuracy, and what arms need of it. Pure."""

import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from benchmarks.through_services.curves import Curve, Series, interval

SHARE = 0.9
"""Of the accuracy at the end of the pilot: the target."""
NEIGHBOURS = 2
"""Evaluations on either side of which a smoothed curve takes the mean."""
FIGURES = (
    "rollouts/signal_share", "rollouts/group_mean", "rollouts/group_max", "advantage/zero_share", "value/used_share",
    "value/predicted", "value/actual", "value/calibration_error", "value/auc", "allocation/unspent",
    "allocation/failure", "advantage/accepted", "advantage/flat_with_signal")
"""Metrics of steps of which a run's mean is kept."""
LAST = 5
"""Evaluations at the end of the pilot."""


class Ratio(NamedTuple):
    """Rollouts to the target as shares of the baseline's, a seed each; None where the target was not reached."""

    each: Sequence[float | None]
    mean: float | None  # None where a seed is missing
    width: float | None  # half of the 95 % interval, paired by seeds


def smoothed(run: Curve) -> list[tuple[int, float]]:
    """Return rollouts and the mean of `sampled` over each evaluation and up to NEIGHBOURS on either side of it."""
    values = [point.sampled for point in run]
    return [(point.rollouts, statistics.fmean(values[max(0, place - NEIGHBOURS):place + NEIGHBOURS + 1]))
            for place, point in enumerate(run)]


def reached(run: Curve, target: float) -> float | None:
    """Return after how many rollouts the smoothed curve is first at the target, None if never.

    Between two evaluations the curve is the line that joins them.
    """
    places = smoothed(run)
    if places[0][1] >= target:
        return float(places[0][0])
    for (before, low), (after, high) in pairwise(places):
        if high >= target:
            return before + (after - before) * (target - low) / (high - low)
    return None


def target(pilot: Curve) -> float:
    """Return the target: SHARE of the pilot's mean accuracy over its last LAST evaluations."""
    return SHARE * statistics.fmean(point.sampled for point in pilot[-LAST:])


def ratio(needed: Sequence[float | None], baseline: Sequence[float | None]) -> Ratio:
    """Return how many rollouts an arm needed, relative to the baseline with the same seed."""
    each = [None if mine is None or other is None else mine / other
            for mine, other in zip(needed, baseline, strict=True)]
    known = [one for one in each if one is not None]
    if len(known) < len(each):
        return Ratio(each, None, None)
    return Ratio(each, statistics.fmean(known), interval([one - 1 for one in known]))


def by_level(series: Series, levels: Sequence[str]) -> dict[str, Any]:
    """Return of each level the accuracy at each evaluation, and of each step's groups how many, and their rollouts."""
    return {level: {
        "sampled": [value for _, value in series[f"source/{level}/eval/sampled"]],
        "groups": [[step, value] for step, value in series.get(f"source/{level}/groups", ()) if step],
        "rollouts": _rollouts(series, f"source/{level}/")} for level in levels}


def _rollouts(series: Series, prefix: str) -> list[list[int]]:
    lengths = dict(series.get(f"{prefix}completion/mean_tokens", ()))
    return [[step, round(tokens / lengths[step])] for step, tokens in series.get(f"{prefix}completion/tokens", ())
            if lengths.get(step)]


def figures(series: Series) -> dict[str, float]:
    """Return the means over steps of FIGURES, of those that a run has."""
    return {name: statistics.fmean(value for _, value in series[name]) for name in FIGURES if series.get(name)}


def bands(series: Series) -> dict[str, dict[str, float]]:
    """Return of each band of expected success its groups and rollouts over the run, and what came of them."""
    names = sorted({name.split("/")[2] for name in series if name.startswith("value/band/")},
                   key=lambda name: int(name.split("-")[0]))
    return {name: _band({field: dict(series[f"value/band/{name}/{field}"])
                         for field in ("groups", "rollouts", "expected", "actual")}) for name in names}


def _band(found: Mapping[str, Mapping[int, float]]) -> dict[str, float]:
    groups = found["groups"]
    many = sum(groups.values())
    means = {field: sum(found[field][step] * groups[step] for step in groups) / many
             for field in ("rollouts", "expected", "actual")}
    return {"groups": many, "rollouts": means["rollouts"] * many, "expected": means["expected"],
            "actual": means["actual"]}
