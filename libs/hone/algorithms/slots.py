"""Every slot of a training step and what may fill it: one visible table."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from hone.algorithms.advantages import ADVANTAGES
from hone.algorithms.aggregations import AGGREGATIONS
from hone.algorithms.allocation import ALLOCATIONS
from hone.algorithms.builders.self_verify import SelfVerify
from hone.algorithms.corrections import CORRECTIONS
from hone.algorithms.filters import FILTERS
from hone.algorithms.losses import LOSSES
from hone.algorithms.method import Method, Params
from hone.algorithms.modulations import MODULATIONS
from hone.algorithms.regularizers import REGULARIZERS
from hone.algorithms.rewards import REWARDS
from hone.algorithms.schedules import SCHEDULES
from hone.algorithms.schedules.batch_size import BATCH_SIZES


class SlotError(ValueError):
    """A filling that does not exist or does not fit: carries the field's name, what was found and what was expected."""

    def __init__(self, field: str, found: object, expected: str) -> None:
        super().__init__(f"{field}: found {found!r}, expected {expected}")
        self.field, self.found, self.expected = field, found, expected


BUILDERS: Mapping[str, type[Params]] = {
    "rollouts": Params, "dataset": Params, "pairs": Params, "self_verify": SelfVerify}
"""S0. rollouts: the groups' trajectories; dataset: rows with a demonstrated completion, in order; pairs: rows with a
chosen and a rejected completion; self_verify: the groups' trajectories, and in steps of their own judgements of their
answers."""

FROM_ROWS = frozenset({"dataset", "pairs"})
"""Builders whose data nobody samples."""


METHODS: Mapping[str, Mapping[str, Method[Any, Any]]] = {
    "allocation": ALLOCATIONS,
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
"""Slot -> name -> method."""

SLOTS: Mapping[str, Mapping[str, type[Params]]] = {
    "builder": BUILDERS,
    **{slot: {name: method.params for name, method in methods.items()} for slot, methods in METHODS.items()},
}
"""Slot -> method -> the type of its parameters."""


def fill(slot: str, name: str, params: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Return {name, params} with every default written out.

    Raises SlotError when the slot has no such method, or the method no such parameter or value; `field` is where in
    the spec the filling stands.
    """
    methods = SLOTS[slot]
    if name not in methods:
        raise SlotError(f"{field}.name", name, f"one of {', '.join(methods)}")
    try:
        return {"name": name, "params": methods[name].model_validate(params).model_dump()}
    except ValidationError as error:
        raise _translated(error, f"{field}.params", methods[name]) from None


def _translated(error: ValidationError, field: str, params: type[Params]) -> SlotError:
    first = error.errors()[0]
    place = ".".join([field, *map(str, first["loc"])])
    if first["type"] == "extra_forbidden":
        return SlotError(place, first["input"], f"no such parameter; known: {', '.join(params.model_fields) or 'none'}")
    return SlotError(place, first["input"], first["msg"].removeprefix("Value error, expected "))


def old_policy(slots: Mapping[str, Any]) -> str:
    """Return whose log-probabilities are logp_old: the `trainer`'s, or in bypass mode the `sampler`'s."""
    return SLOTS["correction"][slots["correction"]["name"]].old_policy


def needs(slots: Mapping[str, Any], slot: str) -> frozenset[str]:
    """Name what the filling of one slot of a resolved algorithm reads beyond `logp`, as `Params.needs` names it."""
    fillings = slots[slot] if slot == "regularizers" else [slots[slot]]
    wanted = [SLOTS[slot][filling["name"]].model_validate(filling["params"]).needs() for filling in fillings]
    return frozenset().union(*wanted)
