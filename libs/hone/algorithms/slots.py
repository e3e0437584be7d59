"""Every slot of a training step and the methods that may fill it: one visible table."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from hone.algorithms.catalogue import METHODS
from hone.algorithms.method import Builder, Method, Params
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


class ParamsOf(Mapping[str, type[Params]]):
    """The types of the parameters of a slot's methods, by name; a method is imported when its type is read."""

    def __init__(self, slot: str) -> None:
        self._methods = METHODS[slot]

    def __getitem__(self, name: str) -> type[Params]:
        return self._methods[name].params

    def __contains__(self, name: object) -> bool:
        return name in self._methods

    def __iter__(self) -> Iterator[str]:
        return iter(self._methods)

    def __len__(self) -> int:
        return len(self._methods)


SLOTS: Mapping[str, Mapping[str, type[Params]]] = {
    "builder": {name: builder.params for name, builder in BUILDERS.items()},
    **{slot: ParamsOf(slot) for slot in METHODS},
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
    """Return the inputs of the methods in `wanted` slots of a resolved algorithm, by the names of `Params.needs`."""
    return frozenset().union(*(
        SLOTS[slot][filling["name"]].model_validate(filling["params"]).needs()
        for slot in wanted for filling in fillings(slots, slot)))


def fillings(slots: Mapping[str, Any], slot: str) -> list[Any]:
    """Return the fillings, {name, params}, of one slot of a resolved algorithm."""
    return list(slots[slot]) if slot == "regularizers" else [slots[slot]]
