"""Every slot of a training step and the methods that may fill it: one visible table."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from hone.algorithms.advantages import ADVANTAGES
from hone.algorithms.aggregations import AGGREGATIONS
from hone.algorithms.allocation import ALLOCATIONS
from hone.algorithms.corrections import CORRECTIONS
from hone.algorithms.filters import FILTERS
from hone.algorithms.losses import LOSSES
from hone.algorithms.method import Builder, Method, Params
from hone.algorithms.modulations import MODULATIONS
from hone.algorithms.regularizers import REGULARIZERS
from hone.algorithms.rewards import REWARDS
from hone.algorithms.samplers import SAMPLERS
from hone.algorithms.schedules import SCHEDULES
from hone.algorithms.schedules.batch_size import BATCH_SIZES
from hone.algorithms.self_verify import SelfVerify
from hone.algorithms.selskill import SelskillPairs
from hone.spec.findings import first


class SlotError(ValueError):
    """A slot's filling is unknown or does not fit. Holds the field's name, the value found and the value expected."""

    def __init__(self, field: str, found: object, expected: str) -> None:
        super().__init__(f"{field}: found {found!r}, expected {expected}")
        self.field, self.found, self.expected = field, found, expected


_GIVEN = {"filter": "none", "reward": "none", "correction": "none"}
_ALL_ROWS = {"sampler": "uniform"}

BUILDERS: Mapping[str, Builder] = {
    "rollouts": Builder(),
    "dataset": Builder(columns=("completion",), fixed={**_GIVEN, **_ALL_ROWS, "advantage": "none"}),
    "pairs": Builder(columns=("chosen", "rejected"),
                     fixed={**_GIVEN, **_ALL_ROWS, "advantage": "dpo", "modulation": "none", "loss": "reinforce"}),
    "self_verify": Builder(SelfVerify, judges_answers=True),
    "selskill": Builder(SelskillPairs, makes_pairs=True, fixed={
        **_GIVEN, "advantage": "preference", "modulation": "selskill", "loss": "reinforce",
        "aggregation": "token-sum"}),
}
"""Builders (S0) by name. rollouts: the groups' trajectories. dataset: rows with a demonstrated completion, in order.
pairs: rows with a chosen and a rejected completion. self_verify: the groups' trajectories, and in steps of their own
judgements of their answers. selskill: pairs of the groups' trajectories, and of continuations of their turns."""

METHODS: Mapping[str, Mapping[str, Method[Any, Any]]] = {
    "allocation": ALLOCATIONS,
    "sampler": SAMPLERS,
    "filter": FILTERS,
    "reward": REWARDS,
    "advantage": ADVANTAGES,
    "modulation": MODULATIONS,
    "correction": CORRECTIONS,
    "loss": LOSSES,
    "aggregation": AGGREGATIONS,
    "regularizers": REGULARIZERS,
    "schedule": SCHEDULES,
    "batch_size": BATCH_SIZES,
}
"""Slot -> name -> method; builders have a table of their own."""

SLOTS: Mapping[str, Mapping[str, type[Params]]] = {
    "builder": {name: builder.params for name, builder in BUILDERS.items()},
    **{slot: {name: method.params for name, method in methods.items()} for slot, methods in METHODS.items()},
}
"""Slot -> method name -> the type of its parameters."""

READERS = ("advantage", "modulation", "correction", "loss", "regularizers")
"""Slots whose methods may need inputs that a forward pass or another model computes."""


def fill(slot: str, name: str, params: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Return {name, params} with every default written out.

    `field` is the filling's path in the spec. Raises SlotError for an unknown method, parameter or value.
    """
    methods = SLOTS[slot]
    if name not in methods:
        raise SlotError(f"{field}.name", name, f"one of {', '.join(methods)}")
    try:
        return {"name": name, "params": methods[name].model_validate(params).model_dump()}
    except ValidationError as error:
        raise SlotError(*first(error, f"{field}.params", model=methods[name])) from None


def builder(slots: Mapping[str, Any]) -> Builder:
    """Return the builder of a resolved algorithm."""
    return BUILDERS[slots["builder"]["name"]]


def method(slots: Mapping[str, Any], slot: str) -> Method[Any, Any]:
    """Return the method that fills a slot of a resolved algorithm; `slot` holds one method, so is not regularizers."""
    return METHODS[slot][slots[slot]["name"]]


def needs(slots: Mapping[str, Any], *wanted: str) -> frozenset[str]:
    """Return what the methods in the `wanted` slots of a resolved algorithm read, by the names of `Params.needs`."""
    return frozenset().union(*(
        SLOTS[slot][filling["name"]].model_validate(filling["params"]).needs()
        for slot in wanted for filling in fillings(slots, slot)))


def fillings(slots: Mapping[str, Any], slot: str) -> list[Any]:
    """Return the fillings, {name, params}, of one slot of a resolved algorithm."""
    return list(slots[slot]) if slot == "regularizers" else [slots[slot]]
