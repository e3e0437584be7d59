"""Filters (S2): decide which groups a step trains on, from the raw task rewards."""

from hone.algorithms.inputs import FilterInputs
from hone.algorithms.method import Method, Metrics, Params, State


def none(inputs: FilterInputs, params: Params, state: State) -> tuple[list[bool], State, Metrics]:
    """All groups are kept."""
    return [True] * len(inputs.rewards), state, {"filtered_groups": 0.0}


METHOD: Method[FilterInputs, list[bool]] = Method(none)
