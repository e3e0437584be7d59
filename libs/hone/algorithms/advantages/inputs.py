"""What estimators read, and the statistics they share. numpy, float64.

One entry per trajectory that counts: samples with a null reward, rejected rows and rows without a trained token are
left out by the caller. Tokens are the trained ones only, trajectory after trajectory, so nothing here knows of masks.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hone.algorithms.method import Metrics

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

TOLERANCE = 1e-8
"""Rewards whose max - min is at most this carry no signal: their advantage is exactly 0."""


@dataclass(frozen=True)
class AdvantageInputs:
    """B trajectories of a step with M trained tokens in all."""

    reward: Floats  # [B], after S3
    group: Ints  # [B], equal numbers share the prompt
    tokens: Ints  # [B], trained tokens of each, at least 1; sums to M
    baseline: Floats  # [B], mean of the prompt's earlier outcomes; NaN where there are none
    kl: Floats | None = None  # [M], logp_old - logp_ref, where the params need logp_ref


def members(group: Ints) -> list[Ints]:
    """Return the places of each group's trajectories, groups in order of first appearance."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    return [np.flatnonzero(inverse == number) for number in np.argsort(first)]


def varies(values: Floats) -> bool:
    """Return whether `values` differ by more than the tolerance."""
    return bool(np.ptp(values) > TOLERANCE)


def broadcast(values: Floats, tokens: Ints) -> Floats:
    """Return `values` [B] repeated over each trajectory's tokens, [M]."""
    return np.repeat(values, tokens)


def group_metrics(inputs: AdvantageInputs) -> Metrics:
    """Count groups, those without variance and those with a single valid sample."""
    groups = members(inputs.group)
    flat = sum(len(rows) > 1 and not varies(inputs.reward[rows]) for rows in groups)
    return {
        "groups": float(len(groups)),
        "zero_variance_groups": float(flat),
        "single_sample_groups": float(sum(len(rows) == 1 for rows in groups)),
    }
