"""Filters (S2): decide which groups a step trains on, from the raw task rewards."""

from collections.abc import Mapping

from hone.algorithms.filters.contrast import contrast
from hone.algorithms.filters.dynamic_sampling import DynamicSampling, dynamic_sampling
from hone.algorithms.filters.length_band import LengthBand, length_band
from hone.algorithms.inputs import FilterInputs
from hone.algorithms.method import Method, Metrics, Params, State


def none(inputs: FilterInputs, params: Params, state: State) -> tuple[list[bool], State, Metrics]:
    """All groups are kept."""
    return [True] * len(inputs.rewards), state, {"filtered_groups": 0.0}


FILTERS: Mapping[str, Method[FilterInputs, list[bool]]] = {
    "none": Method(none),
    "dynamic_sampling": Method(dynamic_sampling, DynamicSampling),
    "length_band": Method(length_band, LengthBand),
    "contrast": Method(contrast),
}
