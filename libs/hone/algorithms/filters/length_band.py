"""Length-aware sampling of V-tableR1, arXiv 2604.20755, after LSPO, arXiv 2510.01459: short and long groups count.

The caller generates more until the step is full, at most `max_rounds` extra rounds, and cuts what is left over in
order of arrival.
"""

import math

import numpy as np
from pydantic import Field, model_validator

from hone.algorithms.filters.dynamic_sampling import DynamicSampling, dynamic_sampling
from hone.algorithms.inputs import FilterInputs, Floats
from hone.algorithms.method import Metrics, State

_FIRST_KEEP_RATE = 0.5
_SLACK = 1e-9


class LengthBand(DynamicSampling):
    """Which quantiles of the mean lengths bound what counts; both filters of the method."""

    low: float = Field(0.30, ge=0, le=1, description="Quantile up to which a group is short enough.")
    high: float = Field(0.65, ge=0, le=1, description="Quantile from which a group is long enough.")
    longest: float = Field(0.95, ge=0, le=1, description="Quantile beyond which a group is too long.")
    min_pool: int = Field(20, ge=0, description="Groups with signal below which lengths do not matter.")
    memory: float = Field(0.9, ge=0, lt=1, description="Weight of the keep-rate so far against this step's.")
    floor: float = Field(0.1, gt=0, le=1, description="Smallest keep-rate: bounds how many groups a step takes.")

    @model_validator(mode="after")
    def _ascend(self) -> "LengthBand":
        if not self.low <= self.high <= self.longest:
            raise ValueError("expected low <= high <= longest")
        return self


def length_band(inputs: FilterInputs, params: LengthBand, state: State) -> tuple[list[bool], State, Metrics]:
    """keep = (max R - min R > tolerance) and (L <= Q_low or Q_high <= L <= Q_longest), relative tolerance 1e-9.

    Q: quantiles, by linear interpolation, of the mean lengths L of the groups that pass the first test; fewer of them
    than `min_pool` are all kept. keep_rate = max(floor, memory keep_rate + (1 - memory) kept / taken).
    State: {keep_rate}, 0.5 at first. Every round of a step starts from the state before the step; its last one counts.
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
    """Return how many groups to generate so that about `wanted` are kept: wanted / keep_rate, rounded up."""
    rate: float = state.get("keep_rate", _FIRST_KEEP_RATE)
    return math.ceil(wanted / rate - _SLACK)


def _inside(lengths: Floats, pool: Floats, params: LengthBand) -> list[bool]:
    if len(pool) < max(1, params.min_pool):
        return [True] * len(lengths)
    low, high, longest = np.quantile(pool, [params.low, params.high, params.longest])
    short = lengths <= low * (1 + _SLACK)
    long = (high * (1 - _SLACK) <= lengths) & (lengths <= longest * (1 + _SLACK))
    return [bool(inside) for inside in short | long]
