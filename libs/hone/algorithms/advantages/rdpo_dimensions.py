"""The reward dimensions of a batch for RDPO (arXiv 2605.13641, reconstruction), and their metrics."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from hone.algorithms.advantages.statistics import members, varies
from hone.algorithms.inputs import AdvantageInputs, Flags, Floats, Ints
from hone.algorithms.method import Metrics

LARGEST = 1e100
"""A larger reward counts as infinite, so that squares of all others are finite."""


@dataclass(frozen=True)
class Dimensions:
    """Raw rewards of B rows in K dimensions."""

    names: list[str]  # of a mixture, each component of each source by SOURCE.COMPONENT
    parts: list[str]  # the component of each
    rewards: Floats  # [B, K]; NaN: not active, missing, or of a refused row
    groups: list[Ints]  # indices of the rows of each group; refused rows are in none
    ranges: Floats  # [groups, K]: max - min, 0 where a dimension does not vary, NaN where it is not active

    def varied(self) -> list[Ints]:
        """Return the rows of each group in which some dimension varies."""
        return [rows for rows, extents in zip(self.groups, self.ranges, strict=True) if (extents > 0).any()]


@dataclass(frozen=True)
class RewardBucket:
    """The rows with the same active dimensions, and their whitening matrix."""

    rows: Ints
    live: Ints  # indices of the active dimensions that vary
    matrix: Floats  # W
    weights: Floats  # effective weights, W w / |w|
    covariance: dict[str, list[list[float]]] = field(default_factory=dict)  # C_bar by key; {} where not whitened


def read(inputs: AdvantageInputs) -> Dimensions:
    """Return the components as a table, names in order. Raises ValueError without components.

    Sources of a mixture have dimensions of their own, also for components of one name: their scales may differ.
    """
    if not inputs.components:
        raise ValueError("components: found none, expected each reward dimension by name")
    columns = dict(_columns(inputs))
    names = sorted(columns)
    rewards = np.column_stack([columns[name][1] for name in names])
    sound: Flags = ~np.any(np.abs(rewards) > LARGEST, axis=1)
    groups = [rows[sound[rows]] for rows in members(inputs.group) if sound[rows].any()]
    ranges = [_range(rewards[rows, k]) for rows in groups for k in range(len(names))]
    return Dimensions(
        names, [columns[name][0] for name in names], np.where(sound[:, None], rewards, np.nan), groups,
        np.array(ranges).reshape(len(groups), len(names)))


def _columns(inputs: AdvantageInputs) -> Iterator[tuple[str, tuple[str, Floats]]]:
    """Yield the name, the component and the rewards of each dimension."""
    sources = np.array(list(inputs.source) or [""] * len(inputs.reward))
    for part, values in inputs.components.items():
        for source in np.unique(sources):
            own = np.where(sources == source, values, np.nan)
            if not source:
                yield part, (part, own)
            elif not np.isnan(own).all():
                yield f"{source}.{part}", (part, own)


def dimension_metrics(table: Dimensions, scores: Floats, references: Mapping[str, float]) -> Metrics:
    """Return for each component the RMS of z, share of degenerate groups and reference range; and counts of gaps."""
    metrics = {
        "rejected_rows": float(len(table.rewards) - sum(map(len, table.groups))),
        "missing_rewards": float((np.isnan(table.rewards) & ~np.isnan(scores)).sum()),
    }
    for k, name in enumerate(table.names):
        active = table.ranges[~np.isnan(table.ranges[:, k]), k]
        metrics[f"z_rms_{name}"] = float(np.sqrt(_mean(scores[~np.isnan(scores[:, k]), k] ** 2)))
        metrics[f"degenerate_{name}"] = _mean((active == 0).astype(np.float64))
        metrics[f"d_ref_{name}"] = references[name]
    return metrics


def bucket_metrics(names: list[str], buckets: Sequence[RewardBucket]) -> Metrics:
    """Return the smallest eigenvalue that a W inverts, the smallest effective weights, and how many are negative."""
    smallest = [1 / np.linalg.norm(bucket.matrix, 2) ** 2 for bucket in buckets if len(bucket.live)]
    weights: dict[str, float] = {}
    for bucket in buckets:
        for k, weight in zip(bucket.live, bucket.weights.tolist(), strict=True):
            weights[names[k]] = min(weight, weights.get(names[k], weight))
    negative = sum(int((bucket.weights < 0).sum()) for bucket in buckets)
    return {
        "smallest_eigenvalue": float(min(smallest, default=0.0)), "negative_weights": float(negative),
        **{f"effective_weight_{name}": weight for name, weight in weights.items()},
    }


def correlation_metrics(table: Dimensions, scores: Floats, whitened: Floats, advantage: Floats) -> Metrics:
    """Return correlations of each two components before and after whitening, and of A with each raw reward."""
    metrics: Metrics = {}
    for a, b in combinations(range(len(table.names)), 2):
        if _owner(table, a) != _owner(table, b):
            continue
        pair = f"{table.names[a]}_{table.names[b]}"
        metrics[f"correlation_before_{pair}"] = _correlation(scores[:, a], scores[:, b])
        metrics[f"correlation_after_{pair}"] = _correlation(whitened[:, a], whitened[:, b])
    for k, name in enumerate(table.names):
        metrics[f"correlation_advantage_{name}"] = _correlation(advantage, table.rewards[:, k])
    return metrics


def _owner(table: Dimensions, k: int) -> str:
    return table.names[k].removesuffix(table.parts[k])


def _range(values: Floats) -> float:
    present = values[~np.isnan(values)]
    if not len(present):
        return np.nan
    return float(np.ptp(present)) if varies(present) else 0.0


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else 0.0


def _correlation(first: Floats, second: Floats) -> float:
    both = ~(np.isnan(first) | np.isnan(second))
    first, second = first[both], second[both]
    if len(first) < 2 or not varies(first) or not varies(second):
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])
