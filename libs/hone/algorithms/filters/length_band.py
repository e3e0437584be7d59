"""Length-aware sampling of V-tableR1, arXiv 2604.20755, after LSPO, arXiv 2510.01459: keep short and long groups.

The caller samples until the step is full, at most `max_rounds` extra rounds. It drops surplus groups in order of
arrival.
"""

import math

import numpy as np
from pydantic import Field, model_validator

from hone.algorithms.filters.dynamic_sampling import DynamicSampling, dynamic_sampling
from hone.algorithms.inputs import FilterInputs, Floats
from hone.algorithms.method import Method, Metrics, State

_FIRST_KEEP_RATE = 0.5
_SLACK = 1e-9


class LengthBand(DynamicSampling):
    """The quantiles of mean lengths between which groups are dropped, besides dynamic sampling's parameters."""

    low: float = Field(0.30, ge=0, le=1, description="Quantile of lengths up to which groups are kept as short.")
    high: float = Field(0.65, ge=0, le=1, description="Quantile of lengths from which groups are kept as long.")
    longest: float = Field(
        0.95, ge=0, le=1, description="Quantile of lengths beyond which groups are dropped as too long.")
    min_pool: int = Field(20, ge=0, description="With fewer groups with signal, lengths are ignored.")
    memory: float = Field(0.9, ge=0, lt=1, description="Weight of the earlier keep-rate against this step's.")
    floor: float = Field(
        0.1, gt=0, le=1, description="Smallest keep-rate, which limits the groups that a step samples.")

    @model_validator(mode="after")
    def _ascend(self) -> "LengthBand":
        if not self.low <= self.high <= self.longest:
            raise ValueError("expected low <= high <= longest")
        return self


def length_band(inputs: FilterInputs, params: LengthBand, state: State) -> tuple[list[bool], State, Metrics]:
    """keep = (max R - min R > tolerance) and (L <= Q_low or Q_high <= L <= Q_longest), relative tolerance 1e-9.

    Q: quantiles, by linear interpolation, of the mean lengths L of the groups that pass the first test. Fewer of them
    than `min_pool` are all kept. keep_rate = max(floor, memory keep_rate + (1 - memory) kept / taken).
    State: {keep_rate}, 0.5 at first. Each round of a step starts from the state before the step. The state after the
    last round is kept.
    """
    informative, _, _ = dynamic_sampling(inputs, params, {})
    lengths = np.array(inputs.lengths, np.float64)
    pool = lengths[np.array(informative, dtype=bool)]
    kept = [signal and inside for signal, inside in zip(informative, _inside(lengths, pool, params), strict=True)]
    taken, rate = len(kept), state.get("keep_rate", _FIRST_KEEP_RATE)
    if taken:
        rate = max(params.floor, params.memory * rate + (1 - params.memory) * sum(kept) / taken)
    return kept, {"keep_rate": rate}, {
        "filtered_groups": float(taken - sum(kept)),
        "flat_share": (taken - sum(informative)) / max(1, taken),
        "length_share": (sum(informative) - sum(kept)) / max(1, taken),
        "keep_rate": rate,
    }


def groups_to_take(wanted: int, state: State) -> int:
    """Return the number of groups to sample so that about `wanted` are kept: wanted / keep_rate, rounded up."""
    rate: float = state.get("keep_rate", _FIRST_KEEP_RATE)
    return math.ceil(wanted / rate - _SLACK)


def _inside(lengths: Floats, pool: Floats, params: LengthBand) -> list[bool]:
    if len(pool) < max(1, params.min_pool):
        return [True] * len(lengths)
    low, high, longest = np.quantile(pool, [params.low, params.high, params.longest])
    short = lengths <= low * (1 + _SLACK)
    long = (high * (1 - _SLACK) <= lengths) & (lengths <= longest * (1 + _SLACK))
    return [bool(inside) for inside in short | long]


METHOD: Method[FilterInputs, list[bool]] = Method(length_band, LengthBand)
